# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether clocks agree: estimates with each other, records with the server's times of runs, watts with records.

A laptop's run begins after the server was asked for its condition, and ends before the server hears of the end. The
watts of a run follow what its record says of frequency and utilisation. What contradicts this by a second or more,
beyond what the clocks' bounds explain, is a clock, the laptop's or the measuring host's.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from happe_study.evidence.checks.evidence import SECOND_US, drift_us
from happe_study.evidence.checks.findings import Check, Finding, counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from happe_contract.traces import ClockEstimate
    from happe_study.evidence.checks.behaviour import Behaviour
    from happe_study.evidence.checks.evidence import Evidence, RunFacts
    from happe_study.evidence.documents.reading import Measure

KEY, TITLE = "clock", "Clocks"
READ_US = 1000  # what is not worth a word
MOST_EARLY_US = 10_000_000  # from the server's word of a run's start to its beginning
MOST_LATE_US = 1_500_000  # from a run's end to the server's word of it
MOST_SHIFT_S = 5.0
SHIFT_S = 0.5
LEAST_SHIFT_S = 1.0
LEAST_LIKENESS = 0.6  # correlation of watts and what the record lets expect
LEAST_BETTER = 0.15  # than without a shift
FEWEST_SECONDS = 15
MONOTONIC = "monotonic:"


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
        yield "Records and watts are looked at when the study is unblinded."
    elif evidence.measures is None:
        yield "No measured power was given: a measuring host's clock is seen by it alone."
    elif not measured:
        yield "No run's watts change enough, second by second, to be compared with its record."


def _steps(evidence: Evidence) -> Iterator[Finding]:
    """Estimates that no clock can have gone through: between them it was set, or one of them is wrong."""
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
    """What of a record lies outside of the run, as the server was told; None: that can't be compared."""
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
        found.append(f"its record begins {early / SECOND_US:.1f} s before the server was asked to start it")
    elif asked > MOST_EARLY_US:
        what = f"its record begins {asked / SECOND_US:.1f} s after the server was asked to start it"
        found.append(f"{what}, and power is cut by the record: was it begun again?")
    if late > READ_US:
        found.append(f"its record ends {late / SECOND_US:.1f} s after the server was told of its end")
    elif heard > MOST_LATE_US:
        what = f"the server heard of its end {heard / SECOND_US:.1f} s after its record ends"
        found.append(f"{what}, and power is cut by the record")
    where = f"run {run.code}, laptop {_named(evidence, run.laptop)}"
    return [Finding(where, each) for each in found]


def _shift_of(evidence: Evidence, run: RunFacts, record: Behaviour) -> Shift | None:
    """By how much a run's watts come before its record; None: they don't tell."""
    measure = (evidence.measures or {}).get(run.code)
    if measure is None or measure.from_us is None or not record.watts or run.laptop is None:
        return None
    here = evidence.server_us(run.laptop, record.clock, record.started_us)
    if here is None:
        return None
    offset = here[0] - record.started_us
    expected = _Expected([(t_us + offset, watts) for t_us, watts in record.watts], record.started_us + offset)
    shifts = [SHIFT_S * n for n in range(round(-MOST_SHIFT_S / SHIFT_S), round(MOST_SHIFT_S / SHIFT_S) + 1)]
    likeness = {shift: expected.likeness(measure, shift) for shift in shifts}
    best = max(shifts, key=lambda shift: (likeness[shift], -abs(shift)))
    if likeness[best] < LEAST_LIKENESS:
        return None
    bound_us = here[1] + evidence.bound_us(measure.trace, measure.from_us)
    return Shift(best if likeness[best] - likeness[0.0] >= LEAST_BETTER else 0.0, bound_us / SECOND_US)


def _shifted(run: RunFacts, shift: Shift) -> Iterator[Finding]:
    if abs(shift.seconds) >= LEAST_SHIFT_S + shift.bound_s:
        when = "before" if shift.seconds > 0 else "after"
        what = f"its watts come {abs(shift.seconds):.1f} s {when} what its record says"
        yield Finding(f"run {run.code}", f"{what}: a clock is off, the laptop's or the meter's")


class Shift(NamedTuple):
    """By how many seconds watts come before the record, and how far off both clocks can be together."""

    seconds: float
    bound_s: float


class _Expected:
    """The energy that a record lets expect since its beginning, by the server's time."""

    def __init__(self, periods: Sequence[tuple[int, float]], begin_us: int) -> None:
        self._times, self._joules = [begin_us], [0.0]
        for t_us, watts in periods:
            self._joules.append(self._joules[-1] + watts * (t_us - self._times[-1]) / SECOND_US)
            self._times.append(t_us)

    def likeness(self, measure: Measure, shift_s: float) -> float:
        """Correlation of a run's seconds with those expected so many seconds later; 0 where either hardly changes."""
        assert measure.from_us is not None  # noqa: S101 - seen by the caller
        pairs = []
        for second, watts in enumerate(measure.seconds_w):
            begin_us = measure.from_us + round((second + shift_s) * SECOND_US)
            if watts is not None and begin_us >= self._times[0] and begin_us + SECOND_US <= self._times[-1]:
                pairs.append((self._at(begin_us + SECOND_US) - self._at(begin_us), watts))
        return _correlation(pairs) if len(pairs) >= FEWEST_SECONDS else 0.0

    def _at(self, t_us: int) -> float:
        right = min(bisect_right(self._times, t_us), len(self._times) - 1)
        left = right - 1
        share = (t_us - self._times[left]) / (self._times[right] - self._times[left])
        return self._joules[left] + share * (self._joules[right] - self._joules[left])


def _correlation(pairs: Sequence[tuple[float, float]]) -> float:
    means = [sum(column) / len(pairs) for column in zip(*pairs, strict=True)]
    xx = sum((x - means[0]) ** 2 for x, _ in pairs)
    yy = sum((y - means[1]) ** 2 for _, y in pairs)
    xy = sum((x - means[0]) * (y - means[1]) for x, y in pairs)
    return xy / sqrt(xx * yy) if min(xx, yy) > len(pairs) * LEAST_SPREAD_W**2 else 0.0


LEAST_SPREAD_W = 0.1
