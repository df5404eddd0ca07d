# SPDX-License-Identifier: GPL-2.0-or-later
"""A trace's folder made ready for the arithmetic: its rig, clocks and zero checks, and figures of intervals of it."""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from happe_contract.calibration import Calibration, from_header
from happe_contract.cuts import Clocks
from happe_contract.server_time import ClockSetError, server_clock
from happe_contract.time_base import time_base
from happe_contract.traces import ClockEstimate, Reason
from happe_power import calibration as records
from happe_power.arithmetic.energy import Interval, measure
from happe_power.arithmetic.refusal import Limits, Refusal, Why
from happe_power.arithmetic.rig import rig_of
from happe_power.arithmetic.zeros import NO_CHECKS, Checks, checks_of, readings_of
from happe_power.recording import zero_check
from happe_power.recording.time_base import thinned
from happe_power.toml_fields import TomlFileError
from happe_power.trace import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from happe_contract.rig import Rig
    from happe_contract.server_time import Part
    from happe_contract.traces import Block, Gap
    from happe_power.arithmetic.energy import Figure
    from happe_power.calibration import Standing
    from happe_power.trace import Trace

OWN_CLOCK_US = 1  # a wall clock is read in whole microseconds


class Times(NamedTuple):
    """An interval of the server's time in microseconds; None: where the trace begins or ends.

    `begin_parts` and `end_parts`: why these times themselves may be off.
    """

    begin_us: int | None = None
    end_us: int | None = None
    begin_parts: tuple[Part, ...] = ()
    end_parts: tuple[Part, ...] = ()


class Session(NamedTuple):
    """A trace and what is needed to take figures from it."""

    trace: Trace
    rig: Rig
    calibration: Calibration | None
    clocks: Clocks
    checks: Checks
    notes: tuple[str, ...]

    def figure(
        self, times: Times, limits: Limits, watch: Callable[[Iterator[Block]], Iterator[Block]] = iter
    ) -> Figure | Refusal:
        """The figure of an interval, or why there is none. `watch` hands its blocks on. Raises TraceError."""
        interval = self.interval(times)
        if refusal := _saturated(self.trace.gaps, interval):
            return refusal
        blocks = self.trace.blocks(*interval.needs) if interval.samples > 0 else iter(())
        return measure(self.rig, interval, watch(blocks), self.checks, limits)

    def interval(self, times: Times) -> Interval:
        """Where an interval is among the samples."""
        begin_us = self._at(self.trace.started.index) if times.begin_us is None else times.begin_us
        end_us = self._at(self.trace.end_index) if times.end_us is None else times.end_us
        begin, end = self.clocks.cut(begin_us), self.clocks.cut(end_us)
        return Interval(
            self.trace.id,
            replace(begin, parts=(*begin.parts, *times.begin_parts)),
            replace(end, parts=(*end.parts, *times.end_parts)),
        )

    def standing(self, figure: Figure) -> tuple[Standing, str]:
        """What the calibration is worth on the day of a figure (UTC)."""
        day = dt.datetime.fromtimestamp(figure.interval.begin.server_us / 1e6, dt.UTC).date()
        return records.standing(self.calibration, day)

    def _at(self, index: int) -> int:
        return self.clocks.server_us(index)


def _saturated(gaps: Sequence[Gap], interval: Interval) -> Refusal | None:
    """What was lost at the end of a range was not lost by chance: the rest says nothing of it."""
    first, end = math.floor(interval.begin.position), math.ceil(interval.end.position)
    spans = [(gap.from_index, gap.to_index) for gap in gaps if gap.reason is Reason.SATURATED]
    lost = sum(max(0, min(to_index, end) - max(from_index, first)) for from_index, to_index in spans)
    if not lost:
        return None
    said = (
        f"{lost} of its samples stood at the end of the range: the mean would be off without them; take a wider range"
    )
    return Refusal(Why.COVERAGE, said)


def session(
    trace: Trace,
    *,
    record: Path | None = None,
    channel: str | None = None,
    own_clock: bool = False,
    zeros: Path | None = None,
) -> Session | Refusal:
    """A trace made ready. `record` is another calibration record's file than the trace's own.

    `own_clock`: the time is that of the host's wall clock, as it went with the samples, and not the server's.
    `zeros`: its zero checks, if they are not beside it.
    Raises TraceError, TomlFileError, OSError.
    """
    calibration, notes = _calibration(trace, record)
    rig = rig_of(trace.channels, calibration, channel)
    if isinstance(rig, Refusal):
        return rig
    clocks = clocks_of(trace, own_clock=own_clock)
    if isinstance(clocks, Refusal):
        return clocks
    if own_clock:
        notes = (*notes, "times are of this host's wall clock, not of the server's")
    checks = _checks(zeros or trace.folder / zero_check.NAME, calibration)
    return Session(trace, rig, calibration, clocks, checks, notes)


def clocks_of(trace: Trace, *, own_clock: bool = False) -> Clocks | Refusal:
    """A trace's clocks. Raises TraceError."""
    estimates = _wall_clock(trace) if own_clock else trace.clocks
    try:
        server = server_clock(trace.header["clock"], estimates)
    except ClockSetError as error:
        return Refusal(Why.CLOCK_SET, str(error))
    if server is None:
        help_ = "no estimate of the server's clock is in the trace; --own-clock takes this host's wall clock instead"
        return Refusal(Why.NO_CLOCK, help_)
    return Clocks(time_base(trace.time_base, trace.gaps, trace.rate_hz), server)


def _wall_clock(trace: Trace) -> Sequence[ClockEstimate]:
    """The wall clock at the first and last pair and once a minute between, as if it were the server's."""
    pairs = trace.time_base
    return [
        ClockEstimate(pair.monotonic_us, pair.realtime_us - pair.monotonic_us, OWN_CLOCK_US)
        for pair in {pairs[0], *thinned(pairs, trace.rate_hz, 60), pairs[-1]}
    ]


def _calibration(trace: Trace, record: Path | None) -> tuple[Calibration | None, tuple[str, ...]]:
    """The record to use, the file that is named or what the trace's header has, and what is to be said of it."""
    ours = from_header(trace.calibration)
    if record is None:
        return ours, ()
    found = records.parse(record.read_bytes(), str(record))
    same = ours is not None and found.sha256 == ours.sha256
    was = ours.name if ours else "none"
    return found, () if same else (f"with calibration {found.name}; the trace was recorded under {was}",)


def _checks(path: Path, calibration: Calibration | None) -> Checks:
    if not path.exists():
        return NO_CHECKS
    try:
        document = json.loads(path.read_bytes())
        return checks_of(readings_of(document["before"]), readings_of(document["after"]), calibration)
    except (ValueError, TypeError, KeyError) as error:
        raise TraceError(f"{path}: these are no zero readings: {error!r}") from None


__all__ = ["Session", "Times", "TomlFileError", "clocks_of", "session"]
