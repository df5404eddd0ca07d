# SPDX-License-Identifier: GPL-2.0-or-later
"""Mean power and energy over an interval of the server's time, with a GUM budget, or why there is none.

docs/uncertainty.md has the budget worked through. Nothing here reads a file or a clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from happe_contract.traces import Measures
from happe_power.arithmetic.budget import Budget, Contribution, Kind, budget_of
from happe_power.arithmetic.noise import before_rounding, rounding, scatter
from happe_power.arithmetic.refusal import Limits, Refusal, Why
from happe_power.arithmetic.rig import columns, contributions, zero_sensitivities
from happe_power.arithmetic.sums import Roughness, Samples, Stretches, Window, differences
from happe_power.arithmetic.zeros import NO_CHECKS, verdict_contributions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from happe_contract.cuts import Cut
    from happe_contract.rig import Moments, Rig
    from happe_contract.traces import Block
    from happe_power.arithmetic.noise import Scatter
    from happe_power.arithmetic.sums import Values
    from happe_power.arithmetic.zeros import Checks

LEAST_LOCAL_US = 5_000.0  # power at a cut is the mean over at least this on either side
SECOND = 1e6


class Interval(NamedTuple):
    """What is to be measured: of one trace, named by its id, between two cuts."""

    trace: str
    begin: Cut
    end: Cut

    @property
    def seconds(self) -> float:
        """Its length by the server's clock."""
        return (self.end.server_us - self.begin.server_us) / SECOND

    @property
    def samples(self) -> float:
        """Its length in samples, kept or not."""
        return self.end.position - self.begin.position

    @property
    def needs(self) -> tuple[int, int]:
        """The indices from and up to which `measure` wants blocks: a little more than the interval."""
        around = max(self.around(self.begin), self.around(self.end)) + 1
        return max(math.floor(self.begin.position - around), 0), math.ceil(self.end.position + around) + 1

    def around(self, cut: Cut) -> float:
        """How many samples on either side of a cut count for the power at it."""
        return max(cut.half_width_us, LEAST_LOCAL_US) / SECOND * self.rate_hz + 1

    @property
    def rate_hz(self) -> float:
        """Samples a second of the server's time."""
        return self.samples / self.seconds


@dataclass(frozen=True)
class Figure:
    """Mean power over an interval (watts) and its budget. `noise` is the scatter of short stretches of it."""

    interval: Interval
    mean_w: float
    budget: Budget
    coverage: float
    noise: Scatter
    notes: tuple[str, ...]

    @property
    def energy_j(self) -> float:
        """Joules, what is missing reckoned at the mean of what is there."""
        return self.mean_w * self.interval.seconds

    @property
    def energy_budget(self) -> Budget:
        """The budget of the energy."""
        return self.budget.scaled(self.interval.seconds)


def measure(
    rig: Rig, interval: Interval, blocks: Iterable[Block], checks: Checks = NO_CHECKS, limits: Limits | None = None
) -> Figure | Refusal:
    """The mean power over an interval. `blocks` has what there is of `interval.needs`, in the order of indices."""
    if refusal := _bad_cuts(interval, limits or Limits()):
        return refusal
    seen = _Seen(rig, interval)
    for first, x, y in _steady(rig, interval, blocks):
        seen.add(Samples(first, x, y))
    moments = seen.inside.moments
    if refusal := _bad_coverage(seen.inside.coverage, limits or Limits()):
        return refusal
    assert moments is not None  # noqa: S101 - there is coverage
    mean = rig.mean(moments)
    noise = scatter(seen.stretches.means) if np.isfinite(seen.stretches.means).any() else scatter(np.array([mean]))
    lines = [
        *contributions(rig, moments),
        *_noise(rig, seen, noise, checks),
        *_rounding(rig, seen, moments),
        *_clock(mean, seen),
        *_zeros(rig, interval, moments, checks),
        *_missing(interval, seen.inside.coverage, noise),
    ]
    return Figure(interval, mean, budget_of(lines), seen.inside.coverage, noise, _notes(rig, checks))


def _bad_cuts(interval: Interval, limits: Limits) -> Refusal | None:
    if interval.seconds <= 0 or interval.samples <= 0:
        return Refusal(Why.EMPTY, "the interval ends before it begins")
    most = min(limits.clock_us, limits.clock_share * interval.seconds * SECOND)
    worst = max(interval.begin.half_width_us, interval.end.half_width_us)
    if worst > most:
        return Refusal(
            Why.CLOCK,
            f"a cut is known to {worst / 1000:.1f} ms only, at most {most / 1000:.1f} ms are good enough; "
            "more clock estimates near it would help",
        )
    return None


def _bad_coverage(coverage: float, limits: Limits) -> Refusal | None:
    if coverage <= 0:
        return Refusal(Why.NO_SAMPLES, "the trace has no samples in the interval")
    if coverage < limits.coverage:
        lacking = f"{100 * coverage:.2f} % of the interval has samples, at least {100 * limits.coverage:g} % is needed"
        return Refusal(Why.COVERAGE, lacking)
    return None


class _Seen:
    """What is kept of the samples of an interval and of those around its cuts."""

    def __init__(self, rig: Rig, interval: Interval) -> None:
        begin, end = interval.begin.position, interval.end.position
        self._rig = rig
        self.interval = interval
        self.inside = Window(begin, end)
        self.stretches = Stretches(begin, end)
        self.rough = (Roughness(), Roughness())
        self.sides = [
            [Window(at - around, at), Window(at, at + around)]
            for at, around in ((begin, interval.around(interval.begin)), (end, interval.around(interval.end)))
        ]

    def add(self, samples: Samples) -> None:
        """Take consecutive samples."""
        for window in (self.inside, *self.sides[0], *self.sides[1]):
            window.add(samples)
        self.stretches.add(samples.first, self._rig.power(samples.x, samples.y))
        self.rough[0].add(samples.x)
        self.rough[1].add(samples.y)

    def steps(self, which: int, mean: float) -> tuple[float, float]:
        """How far the power before a cut and after it is from the mean, watts with a sign.

        A side without samples is as the other one; without both, as far as all of the power goes.
        """
        found = [self._rig.mean(window.moments) - mean for window in self.sides[which] if window.moments]
        if found:
            return found[0], found[-1]
        means = self.stretches.means
        spread = float(np.nanmax(means) - np.nanmin(means)) if np.isfinite(means).any() else 0.0
        return spread, spread


def _steady(rig: Rig, interval: Interval, blocks: Iterable[Block]) -> Iterator[tuple[int, Values, Values]]:
    """Values at the input; of an energy counter its steps, as watts."""
    if rig.channel.measures is not Measures.ENERGY:
        return columns(rig, blocks)
    steps = differences((first, x) for first, x, _ in columns(rig, blocks))
    return ((first, x * interval.rate_hz, np.ones(len(x))) for first, x in steps)


def _noise(rig: Rig, seen: _Seen, noise: Scatter, checks: Checks) -> Iterator[Contribution]:
    """Of the instrument alone if that is known; else all scatter of the power, with what the load did itself."""
    here, moments = _here(seen.interval), seen.inside.moments
    if rig.channel.measures is Measures.ENERGY or moments is None:
        return  # a counter is read at both ends only
    if _long_run(rig, checks, rig.channel.name):
        for (channel, sensitivity, gain), rough in zip(zero_sensitivities(rig, moments), seen.rough, strict=False):
            found = _long_run(rig, checks, channel.name)
            deviation, dof, source = found or (rough.deviation, math.inf, "from sample to sample, as if independent")
            off = gain * deviation / math.sqrt(max(seen.inside.weight, 1.0))
            key, name = f"{here}/noise/{channel.name}", f"noise of {channel.name}"
            yield Contribution(key, name, Kind.A, sensitivity, off, channel.unit, source, dof)
        return
    source = f"{noise.count} stretches worth {noise.effective:.0f} independent ones"
    yield Contribution(f"{here}/noise", "noise", Kind.A, 1.0, noise.standard_uncertainty, "W", source, noise.dof)


def _long_run(rig: Rig, checks: Checks, channel: str) -> tuple[float, float, str] | None:
    """What a channel's noise is at its input, with its degrees of freedom: of the zero check, else of the record."""
    if reading := checks.readings.get(channel):
        return reading.noise, reading.dof, f"zero check, {reading.samples} samples"
    if known := rig.noises.get(channel):
        off = known.standard_uncertainty
        return known.value, 0.5 * (known.value / off) ** 2 if off else math.inf, known.source
    return None


def _rounding(rig: Rig, seen: _Seen, moments: Moments) -> Iterator[Contribution]:
    """What counts round off. A counter has it twice, at its ends."""
    interval = seen.interval
    for (channel, sensitivity, gain), rough in zip(zero_sensitivities(rig, moments), seen.rough, strict=False):
        if channel.dtype.kind != "i":
            continue
        step = abs(channel.scale)
        if channel.measures is Measures.ENERGY:
            off, unit = math.sqrt(2 / 12) * step * interval.rate_hz / interval.samples, "W"
        else:
            off, unit = rounding(step, before_rounding(rough.deviation, step)), channel.unit
        name = f"quantisation of {channel.name}"
        source = f"a count is {step:.3g} {channel.unit}"
        yield Contribution(
            f"{_here(interval)}/counts/{channel.name}", name, Kind.B, sensitivity, gain * off, unit, source
        )


def _clock(mean: float, seen: _Seen) -> Iterator[Contribution]:
    """A cut that is late by d takes d times the step of power there off the sum, or adds it (docs/uncertainty.md).

    What both cuts have in common makes both early, or both late: of the two what is worse.
    """
    interval = seen.interval
    begin, end = ({part.key: part for part in cut.parts} for cut in (interval.begin, interval.end))
    sides = list(zip(seen.steps(0, mean), seen.steps(1, mean), strict=True))
    for key, part in (begin | end).items():
        at_begin, at_end = (parts[key].weight if key in parts else 0.0 for parts in (begin, end))
        watts = max((at_end * there - at_begin * here for here, there in sides), key=abs)
        off = part.half_width_us / SECOND / math.sqrt(3)
        yield Contribution(key, part.name, Kind.B, watts / interval.seconds, off, "s", part.source)


def _zeros(rig: Rig, interval: Interval, moments: Moments, checks: Checks) -> Iterator[Contribution]:
    for channel, sensitivity, _ in zero_sensitivities(rig, moments):
        if verdict := checks.verdicts.get(channel.name):
            keys = (f"{interval.trace}/zero/{channel.name}", f"{_here(interval)}/drift/{channel.name}")
            yield from verdict_contributions(verdict, channel.unit, sensitivity, keys)


def _missing(interval: Interval, coverage: float, noise: Scatter) -> Iterator[Contribution]:
    """What is missing may have had another mean than what is there: by a standard deviation of short stretches."""
    missing = 1.0 - coverage
    if missing > NO_GAP:
        source = f"{100 * missing:.3f} % has no samples"
        name, key = "missing samples", f"{_here(interval)}/missing"
        yield Contribution(key, name, Kind.B, missing, noise.deviation, "W", source)


NO_GAP = 1e-9  # of the interval: the last digits of sums


def _here(interval: Interval) -> str:
    return f"{interval.trace}/{interval.begin.server_us}-{interval.end.server_us}"


def _notes(rig: Rig, checks: Checks) -> tuple[str, ...]:
    notes = [verdict.says for verdict in checks.verdicts.values() if not verdict.holds]
    if rig.channel.measures is not Measures.ENERGY and not _long_run(rig, checks, rig.channel.name):
        notes.append("neither zero check nor record tell the noise: what the load itself did counts as noise")
    return (*rig.notes, *notes)
