# SPDX-License-Identifier: GPL-2.0-or-later
"""Check clocks: estimates against each other, records against the server's times of runs, watts against records.

A run begins after the laptop asked the server for its condition, and ends before the server hears of the end. A run's
watts follow the frequency and utilisation in its record. If watts and record are apart by a second or more, beyond the
clocks' bounds, a clock is wrong: the laptop's or the measuring host's.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from happe_contract.traces import ClockEstimate
from happe_study.study.checks.behaviour import Behaviour
from happe_study.study.checks.evidence import SECOND_US, Check, Evidence, Finding, RunFacts, counted, drift_us
from happe_study.study.documents import Measure

Floats = NDArray[np.float64]


KEY, TITLE = "clock", "Clocks"
READ_US = 1000  # the check ignores smaller differences
MOST_EARLY_US = 10_000_000  # from the server's answer to a start until the run begins
MOST_LATE_US = 1_500_000  # from a run's end until the server hears of it
# Seconds, small shifts first: of two shifts that fit equally well, the smaller one counts.
SHIFTS = np.array(sorted(np.arange(-5.0, 5.5, 0.5), key=abs))
LEAST_SHIFT_S = 1.0
LEAST_LIKENESS = 0.6  # correlation of measured watts with those expected from the record
LEAST_BETTER = 0.15  # how much a shift must raise the correlation
LEAST_SPREAD_W = 0.1
FEWEST_SECONDS = 15
MONOTONIC = "monotonic:"


class Shift(NamedTuple):
    """The seconds by which the watts are ahead of the record, and the greatest error of both clocks together."""

    seconds: float
    bound_s: float


def check(evidence: Evidence) -> Check:
    """Look at every clock."""
    found = [*_steps(evidence)]
    compared = measured = 0
    for run in evidence.single if evidence.unblinded else ():
        assert run.behaviour is not None  # noqa: S101 - single
        if (faults := _against_server(evidence, run, run.behaviour)) is not None:
            compared += 1
            found += faults
        if (shift := _shift_of(evidence, run, run.behaviour)) is not None:
            measured += 1
            found += _shifted(run, shift)
    estimates = sum(map(len, evidence.clocks.values()))
    looked_at = f"{counted(estimates, 'clock estimate')} of {counted(len(evidence.clocks), 'clock')}"
    if evidence.unblinded:
        looked_at += f", {counted(compared, 'record')} against the server's times"
        looked_at += f", the watts of {counted(measured, 'run')} against their records"
    return Check(KEY, TITLE, looked_at, tuple(found), tuple(_not_told(evidence, measured)), told=bool(estimates))


def _not_told(evidence: Evidence, measured: int) -> Iterator[str]:
    if not evidence.clocks:
        yield "No device has compared its clock with the server's."
    if not evidence.unblinded:
        yield "The server checks records and watts after the unblinding."
    elif evidence.measures is None:
        yield "There is no measured power. Without it this check can't find a wrong clock of a measuring host."
    elif not measured:
        yield "No run's watts change enough, second by second, for a comparison with its record."


def _steps(evidence: Evidence) -> Iterator[Finding]:
    """Steps between estimates that are too large for a running clock: somebody set it, or an estimate is wrong."""
    for (device, clock), estimates in evidence.clocks.items():
        if clock.startswith(MONOTONIC):
            for before, after in pairwise(estimates):
                step = after.offset_us - before.offset_us
                if abs(step) > _allowed(before, after):
                    what = f"{step / SECOND_US:+.1f} s between two estimates {_apart(before, after)} apart"
                    yield Finding(f"device {_named(evidence, device)}", f"its clock went {what}")


def _allowed(before: ClockEstimate, after: ClockEstimate) -> int:
    apart = after.monotonic_us - before.monotonic_us
    return before.uncertainty_us + after.uncertainty_us + drift_us(apart) + READ_US


def _apart(before: ClockEstimate, after: ClockEstimate) -> str:
    return f"{(after.monotonic_us - before.monotonic_us) / SECOND_US:.0f} s"


def _named(evidence: Evidence, device: str) -> str:
    name = evidence.names.get(device)
    return f"{device} ({name})" if name else device


def _against_server(evidence: Evidence, run: RunFacts, record: Behaviour) -> list[Finding] | None:
    """The findings where a record's times do not fit the run's times on the server; None: not comparable."""
    if run.laptop is None or run.times is None:
        return None
    begin = evidence.server_us(run.laptop, record.clock, record.started_us)
    end = evidence.server_us(run.laptop, record.clock, record.ended_us)
    if begin is None or end is None:
        return None
    (begin_us, begin_off), (end_us, end_off) = begin, end
    early, late = run.times[0] - begin_us - begin_off, end_us - run.times[1] - end_off
    heard, asked = run.times[1] - end_us - end_off, begin_us - run.times[0] - begin_off
    found = []
    if early > READ_US:
        found.append(f"its record begins {early / SECOND_US:.1f} s before the server received the start")
    elif asked > MOST_EARLY_US:
        what = f"its record begins {asked / SECOND_US:.1f} s after the server received the start"
        found.append(f"{what}, and the record decides which power counts: was the run started again?")
    if late > READ_US:
        found.append(f"its record ends {late / SECOND_US:.1f} s after the server received its end")
    elif heard > MOST_LATE_US:
        what = f"the server heard of its end {heard / SECOND_US:.1f} s after its record ends"
        found.append(f"{what}, and the record decides which power counts")
    where = f"run {run.code}, laptop {_named(evidence, run.laptop)}"
    return [Finding(where, each) for each in found]


def _shift_of(evidence: Evidence, run: RunFacts, record: Behaviour) -> Shift | None:
    """The shift between a run's watts and its record; None if the watts do not show one."""
    measure = (evidence.measures or {}).get(run.code)
    if measure is None or measure.from_us is None or not record.watts or run.laptop is None:
        return None
    here = evidence.server_us(run.laptop, record.clock, record.started_us)
    if here is None:
        return None
    offset = here[0] - record.started_us
    expected = _Expected([(t_us + offset, watts) for t_us, watts in record.watts], record.started_us + offset)
    likeness = expected.likeness(measure)
    best = int(np.argmax(likeness))
    if likeness[best] < LEAST_LIKENESS:
        return None
    bound_us = here[1] + evidence.bound_us(measure.trace, measure.from_us)
    better = likeness[best] - likeness[0] >= LEAST_BETTER
    return Shift(float(SHIFTS[best]) if better else 0.0, bound_us / SECOND_US)


def _shifted(run: RunFacts, shift: Shift) -> Iterator[Finding]:
    if abs(shift.seconds) >= LEAST_SHIFT_S + shift.bound_s:
        when = "before" if shift.seconds > 0 else "after"
        what = f"its watts come {abs(shift.seconds):.1f} s {when} the load in its record"
        yield Finding(f"run {run.code}", f"{what}: the laptop's or the meter's clock is wrong")


class _Expected:
    """The energy expected from a record, accumulated since its beginning, by the server's time."""

    def __init__(self, periods: Sequence[tuple[int, float]], begin_us: int) -> None:
        self._times = np.array([begin_us, *(t_us for t_us, _ in periods)], dtype=np.int64)
        joules = np.diff(self._times) * np.array([watts for _, watts in periods]) / SECOND_US
        self._joules = np.concatenate(([0.0], np.cumsum(joules)))

    def likeness(self, measure: Measure) -> Floats:
        """For each shift, the correlation of a run's seconds with the expected seconds; 0 if they hardly change."""
        assert measure.from_us is not None  # noqa: S101 - seen by the caller
        watts = np.array(measure.seconds_w, dtype=float)  # None is nan
        begins = measure.from_us + SECOND_US * np.arange(len(watts)) + np.rint(SHIFTS * SECOND_US).astype(int)[:, None]
        there = ~np.isnan(watts) & (begins >= self._times[0]) & (begins + SECOND_US <= self._times[-1])
        return _correlations(self._at(begins + SECOND_US) - self._at(begins), np.nan_to_num(watts), there)

    def _at(self, times_us: Any) -> Floats:  # noqa: ANN401 - numpy's
        joules: Floats = np.interp(times_us - self._times[0], self._times - self._times[0], self._joules)
        return joules


def _correlations(expected: Floats, measured: Floats, there: Any) -> Floats:  # noqa: ANN401 - numpy's
    """The correlation of each row, over the samples that exist; 0 where they are few or hardly change."""
    count = np.maximum(there.sum(axis=1), 1)
    x, y = (np.where(there, each, 0.0) for each in (expected, measured))
    x, y = (np.where(there, each - (each.sum(axis=1) / count)[:, None], 0.0) for each in (x, y))
    xx, yy, xy = ((one * other).sum(axis=1) for one, other in ((x, x), (y, y), (x, y)))
    tells = (count >= FEWEST_SECONDS) & (np.minimum(xx, yy) > count * LEAST_SPREAD_W**2)
    likeness: Floats = np.divide(xy, np.sqrt(xx * yy), out=np.zeros_like(xy), where=tells)
    return likeness
