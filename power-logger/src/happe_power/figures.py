# SPDX-License-Identifier: GPL-2.0-or-later
"""Prepares a trace's folder for the arithmetic: its rig, clocks and zero checks."""

from collections.abc import Sequence
from pathlib import Path

from happe_contract.calibration import Calibration
from happe_contract.cuts import Clocks
from happe_contract.measuring.refusal import Refusal, Why
from happe_contract.measuring.session import NOMINAL, Session
from happe_contract.measuring.zeros import Checks, checks_of
from happe_contract.rig import rig_of
from happe_contract.server_time import ClockSetError, server_clock
from happe_contract.traces import ClockEstimate
from happe_power import calibration as records
from happe_power.recording import zero_check
from happe_power.recording.indices import thinned
from happe_power.trace import Trace

OWN_CLOCK_US = 1  # the resolution of a wall clock


def session(
    trace: Trace,
    *,
    record: Path | None = None,
    channel: str | None = None,
    own_clock: bool = False,
    zeros: Path | None = None,
) -> Session | Refusal:
    """Prepare a trace. `record` is the file of a calibration record to use instead of the trace's own.

    `own_clock`: take times from the host's wall clock, as recorded with the samples, not from the server's.
    `zeros`: the file of its zero checks, if it is not in the trace's folder.
    Raises TraceError, TomlFileError, OSError.
    """
    calibration, notes = _calibration(trace, record)
    rig = rig_of(trace.channels, calibration, channel)
    if isinstance(rig, Refusal):
        return rig
    clocks = clocks_of(trace, own_clock=own_clock)
    if isinstance(clocks, Refusal):
        return clocks
    if trace.nominal:
        notes = (*notes, NOMINAL)
    if own_clock:
        notes = (*notes, "times follow this host's wall clock, not the server's")
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
        help_ = "the trace has no estimate of the server's clock; --own-clock takes this host's wall clock instead"
        return Refusal(Why.NO_CLOCK, help_)
    return Clocks(trace.times, server)


def _wall_clock(trace: Trace) -> Sequence[ClockEstimate]:
    """The wall clock at the first and last pair and once a minute between, as if it were the server's."""
    pairs = trace.time_base
    return [
        ClockEstimate(pair.monotonic_us, pair.realtime_us - pair.monotonic_us, OWN_CLOCK_US)
        for pair in {pairs[0], *thinned(pairs, trace.rate_hz, 60), pairs[-1]}
    ]


def _calibration(trace: Trace, record: Path | None) -> tuple[Calibration | None, tuple[str, ...]]:
    """The calibration record to use (the named file, or the one in the trace's header), and remarks about it."""
    ours = trace.calibration
    if record is None:
        return ours, ()
    found = records.parse(record.read_bytes(), str(record))
    same = ours is not None and found.sha256 == ours.sha256
    was = ours.name if ours else "none"
    return found, () if same else (f"with calibration {found.name}; the trace was recorded under {was}",)


def _checks(path: Path, calibration: Calibration | None) -> Checks:
    kept = zero_check.kept(path).values()
    return checks_of([each for readings in kept for each in readings], calibration)
