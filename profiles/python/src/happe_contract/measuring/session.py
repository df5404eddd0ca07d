# SPDX-License-Identifier: GPL-2.0-or-later
"""Prepares a trace for the arithmetic (its rig, clocks and zero checks), and gives figures of intervals of it.

The caller reads the samples: a measuring host from a trace's folder, a server from sealed parts.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from happe_contract import calibration as records
from happe_contract.calibration import Calibration, Standing
from happe_contract.cuts import Clocks
from happe_contract.measuring.energy import Figure, Interval, measure
from happe_contract.measuring.refusal import Limits, Refusal, Why
from happe_contract.measuring.zeros import Checks
from happe_contract.rig import Rig
from happe_contract.server_time import Part
from happe_contract.strict_json import Json
from happe_contract.traces import Block, Gap, Reason, TimePair

NOMINAL = "the file's times come from its nominal rate: the uncertainty includes 500 ppm since its beginning"


class TraceError(Exception):
    """A trace can't be read; the message names the file or part and says what is wrong with it."""


class Recorded(Protocol):
    """A trace, wherever its samples are."""

    @property
    def id(self) -> str:
        """The trace's UUID."""

    @property
    def header(self) -> Json:
        """The header, as in power-trace.schema.json."""

    @property
    def started(self) -> TimePair:
        """The first sample's index and time."""

    @property
    def end_index(self) -> int:
        """One past the last index. Raises TraceError."""

    @property
    def gaps(self) -> Sequence[Gap]:
        """The gaps, by index. Raises TraceError."""

    def blocks(self, from_index: int, to_index: int) -> Iterator[Block]:
        """The samples from one index up to, but without, another: blocks without a gap, by index. Raises TraceError."""


class Times(NamedTuple):
    """An interval of the server's time in microseconds; None: the trace's begin or end.

    `begin_parts` and `end_parts` are the reasons why these times themselves may be off.
    """

    begin_us: int | None = None
    end_us: int | None = None
    begin_parts: tuple[Part, ...] = ()
    end_parts: tuple[Part, ...] = ()


class Session(NamedTuple):
    """A trace, with everything that its figures need."""

    trace: Recorded
    rig: Rig
    calibration: Calibration | None
    clocks: Clocks
    checks: Checks
    notes: tuple[str, ...]

    def figure(
        self, times: Times, limits: Limits, watch: Callable[[Iterator[Block]], Iterator[Block]] = iter
    ) -> Figure | Refusal:
        """The figure of an interval, or why there is none. `watch` passes its blocks on. Raises TraceError."""
        interval = self.interval(times)
        if refusal := self._outside(interval) or _saturated(self.trace.gaps, interval):
            return refusal
        blocks = self.trace.blocks(*interval.needs) if interval.samples > 0 else iter(())
        return measure(self.rig, interval, watch(blocks), self.checks, limits)

    def interval(self, times: Times) -> Interval:
        """Find an interval's place among the samples."""
        begin_us = self._at(self.trace.started.index) if times.begin_us is None else times.begin_us
        end_us = self._at(self.trace.end_index) if times.end_us is None else times.end_us
        begin, end = self.clocks.cut(begin_us), self.clocks.cut(end_us)
        return Interval(
            self.trace.id,
            replace(begin, parts=(*begin.parts, *times.begin_parts)),
            replace(end, parts=(*end.parts, *times.end_parts)),
        )

    def standing(self, figure: Figure) -> tuple[Standing, str]:
        """Whether the calibration holds on the day of a figure (UTC), and the note for it."""
        day = dt.datetime.fromtimestamp(figure.interval.begin.server_us / 1e6, dt.UTC).date()
        return records.standing(self.calibration, day)

    def _outside(self, interval: Interval) -> Refusal | None:
        """Refuse an interval outside the trace. Without this, the clock's growing bounds would be the stated reason."""
        first, end = self.trace.started.index, self.trace.end_index
        if interval.samples <= 0 or (interval.end.position > first and interval.begin.position < end):
            return None
        from_, to = (
            dt.datetime.fromtimestamp(self._at(index) / 1e6, dt.UTC).isoformat("T", "seconds").replace("+00:00", "Z")
            for index in (first, end)
        )
        return Refusal(Why.NO_SAMPLES, f"the interval is outside the trace, which goes from {from_} to {to}")

    def _at(self, index: int) -> int:
        return self.clocks.server_us(index)


def _saturated(gaps: Sequence[Gap], interval: Interval) -> Refusal | None:
    """Refuse an interval with saturated samples: these were not lost by chance, so the others do not represent them."""
    first, end = math.floor(interval.begin.position), math.ceil(interval.end.position)
    spans = [(gap.from_index, gap.to_index) for gap in gaps if gap.reason is Reason.SATURATED]
    lost = sum(max(0, min(to_index, end) - max(from_index, first)) for from_index, to_index in spans)
    if not lost:
        return None
    said = f"{lost} of its samples were at the end of the range, so the mean would be wrong; choose a wider range"
    return Refusal(Why.COVERAGE, said)
