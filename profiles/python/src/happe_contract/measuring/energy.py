# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes mean power and energy over an interval of the server's time, with a GUM budget, or says why it can't.

docs/uncertainty.md explains the budget with an example. Nothing here reads a file or a clock.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from happe_contract.cuts import Cut
from happe_contract.measuring import aliasing
from happe_contract.measuring.budget import Budget, Contribution, Kind, budget_of
from happe_contract.measuring.noise import NO_FLICKER, Flicker, Scatter, before_rounding, rounding, scatter
from happe_contract.measuring.refusal import Limits, Refusal, Why
from happe_contract.measuring.rig import columns, contributions, zero_sensitivities
from happe_contract.measuring.sums import Roughness, Samples, Steps, Stretches, Values, Window, differences
from happe_contract.measuring.zeros import HAVE_A_ZERO, NO_CHECKS, Checks, Zero, zero_contributions
from happe_contract.rig import Moments, Rig
from happe_contract.traces import Block, Channel, Measures, Quantity

LEAST_LOCAL_US = 5_000.0  # the power at a cut is the mean over at least so much on either side
SECOND = 1e6


class Interval(NamedTuple):
    """The interval to measure: of one trace, named by its id, between two cuts."""

    trace: str
    begin: Cut
    end: Cut

    @property
    def seconds(self) -> float:
        """The length by the server's clock."""
        return (self.end.server_us - self.begin.server_us) / SECOND

    @property
    def samples(self) -> float:
        """The length in samples, kept or lost."""
        return self.end.position - self.begin.position

    @property
    def needs(self) -> tuple[int, int]:
        """The first index and the end of the blocks that `measure` needs: a little more than the interval."""
        around = max(self.around(self.begin), self.around(self.end))
        return max(math.floor(self.begin.position - around), 0), math.ceil(self.end.position + around) + 1

    def around(self, cut: Cut) -> float:
        """How many samples on either side of a cut give the power at it."""
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
        """Joules. Missing samples count with the mean of the others."""
        return self.mean_w * self.interval.seconds

    @property
    def energy_budget(self) -> Budget:
        """The budget of the energy."""
        return self.budget.scaled(self.interval.seconds)


def measure(
    rig: Rig, interval: Interval, blocks: Iterable[Block], checks: Checks = NO_CHECKS, limits: Limits | None = None
) -> Figure | Refusal:
    """The mean power over an interval. `blocks` are those of `interval.needs` that exist, in the order of indices."""
    if refusal := _bad_cuts(interval, limits or Limits()):
        return refusal
    counter = rig.channel.measures is Measures.ENERGY
    if not counter and (refusal := aliasing.hidden(rig, interval.rate_hz)):
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
        *_clock(rig, mean, seen),
        *_zeros(rig, interval, moments, checks),
        *_missing(interval, seen.inside.coverage, noise),
        *([] if counter else aliasing.contributions(rig, interval.rate_hz, mean)),
        *aliasing.ripple(rig, interval.rate_hz),
    ]
    return Figure(interval, mean, budget_of(lines), seen.inside.coverage, noise, _notes(rig, seen, checks))


def _bad_cuts(interval: Interval, limits: Limits) -> Refusal | None:
    if interval.seconds <= 0 or interval.samples <= 0:
        return Refusal(Why.EMPTY, "the interval ends before it begins")
    share = limits.clock_share * interval.seconds * SECOND
    most = min(limits.clock_us, share)
    worst = max(interval.begin.half_width_us, interval.end.half_width_us)
    if worst > most:
        help_ = "a longer interval" if share < limits.clock_us else "more clock estimates near it"
        return Refusal(
            Why.CLOCK,
            f"the interval's ends are uncertain by {worst / 1000:.6g} ms, at most {most / 1000:.6g} ms is allowed; "
            f"{help_} would help",
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
    """Sums over the samples of an interval and over those around its cuts."""

    def __init__(self, rig: Rig, interval: Interval) -> None:
        begin, end = interval.begin.position, interval.end.position
        self._rig = rig
        self.interval = interval
        self.inside = Window(begin, end)
        self.stretches = Stretches(begin, end)
        channels = [rig.channel, *([rig.supply] if rig.supply else [])]
        self.rough = [Roughness() for _ in channels]
        self._shows = {i: Steps() for i, each in enumerate(channels) if step_of(rig, each) is None}
        self.sides = [
            [Window(at - around, at), Window(at, at + around)]
            for at, around in ((begin, interval.around(interval.begin)), (end, interval.around(interval.end)))
        ]

    def add(self, samples: Samples) -> None:
        """Take consecutive samples."""
        for window in (self.inside, *self.sides[0], *self.sides[1]):
            window.add(samples)
        self.stretches.add(samples.first, self._rig.power(samples.x, samples.y))
        values = (samples.x, samples.y)
        for i, rough in enumerate(self.rough):
            rough.add(values[i])
        for i, shows in self._shows.items():
            shows.add(values[i])

    def step(self, number: int) -> tuple[float, str] | None:
        """The step of the first or second channel's values, and how it is known; None: unknown."""
        channel = (self._rig.channel, self._rig.supply)[number]
        assert channel is not None  # noqa: S101 - callers have checked
        stated = step_of(self._rig, channel)
        shown = self._shows[number].step if stated is None else None
        if stated is None and shown is None:
            return None
        step, how = (stated, "a step is") if stated is not None else (shown, "they show a step of")
        assert step is not None  # noqa: S101 - one of the two is there
        return step, f"{how} {step:.3g} {channel.unit}"

    def steps(self, which: int, mean: float) -> tuple[float, float]:
        """How far the power before a cut and after it is from the mean, in watts with a sign.

        A side without samples counts like the other one; without both, the whole range of the power counts.
        """
        found = [self._rig.mean(window.moments) - mean for window in self.sides[which] if window.moments]
        if found:
            return found[0], found[-1]
        means = self.stretches.means
        spread = float(np.nanmax(means) - np.nanmin(means)) if np.isfinite(means).any() else 0.0
        return spread, spread


def _steady(rig: Rig, interval: Interval, blocks: Iterable[Block]) -> Iterator[tuple[int, Values, Values]]:
    """The values at the input; for an energy counter, its steps as watts."""
    if rig.channel.measures is not Measures.ENERGY:
        return columns(rig, blocks)
    steps = differences((first, x) for first, x, _ in columns(rig, blocks))
    return ((first, x * interval.rate_hz, np.ones(len(x))) for first, x in steps)


def _noise(rig: Rig, seen: _Seen, noise: Scatter, checks: Checks) -> Iterator[Contribution]:
    """The instrument's own noise if it is known; else all scatter of the power, which includes the load's changes."""
    here, moments = _here(seen.interval), seen.inside.moments
    if rig.channel.measures is Measures.ENERGY or moments is None:
        return  # only the two readings at the ends of the interval count
    if _own_noise(rig, checks, rig.channel.name):
        for (channel, sensitivity, gain), rough in zip(zero_sensitivities(rig, moments), seen.rough, strict=True):
            found = _own_noise(rig, checks, channel.name)
            known = found or _OwnNoise(
                rough.deviation, math.inf, NO_FLICKER, "from sample to sample, as if independent"
            )
            white = gain * known.white / math.sqrt(max(seen.inside.weight, 1.0))
            key, name = f"{here}/noise/{channel.name}", f"noise of {channel.name}"
            yield Contribution(key, name, Kind.A, sensitivity, white, channel.unit, known.source, known.dof)
            if known.flicker.floor > 0:
                low = gain * known.flicker.floor * _longer(seen.interval.seconds)
                key, name = f"{here}/flicker/{channel.name}", f"1/f noise of {channel.name}"
                source = f"floor of the Allan deviation, {known.source}"
                yield Contribution(key, name, Kind.A, sensitivity, low, channel.unit, source, known.flicker.dof)
        return
    source = f"{noise.count} stretches worth {noise.effective:.0f} independent ones"
    yield Contribution(f"{here}/noise", "noise", Kind.A, 1.0, noise.standard_uncertainty, "W", source, noise.dof)


class _OwnNoise(NamedTuple):
    """A channel's noise at its input: `white` of one sample, with its degrees of freedom, and 1/f noise."""

    white: float
    dof: float
    flicker: Flicker
    source: str


def _own_noise(rig: Rig, checks: Checks, channel: str) -> _OwnNoise | None:
    """The noise from the zero check, else from the record; None: unknown."""
    if reading := checks.readings.get(channel):
        low = Flicker(reading.flicker, reading.flicker_dof)
        return _OwnNoise(reading.noise, reading.dof, low, f"zero check, {reading.samples} samples")
    known = rig.corrections.get(channel)
    if known is None or known.noise is None:
        return None
    low = Flicker(known.flicker.value, _dof(known.flicker)) if known.flicker else NO_FLICKER
    return _OwnNoise(known.noise.value, _dof(known.noise), low, known.noise.source)


def _dof(quantity: Quantity) -> float:
    """The degrees of freedom of a standard deviation with this uncertainty (GUM E.4.3, equation E.7)."""
    off = quantity.standard_uncertainty
    return 0.5 * (quantity.value / off) ** 2 if off else math.inf


def _longer(seconds: float) -> float:
    """The growth of 1/f noise in a mean over `seconds`, relative to the Allan deviation over about a second.

    The Allan variance is 2 ln 2 times the noise's power in an interval of frequency e. Each doubling of the time adds
    ln 2 of that power to the difference from the zero, so half an Allan variance.
    """
    return math.sqrt(1 + 0.5 * math.log2(max(seconds, 1.0)))


def step_of(rig: Rig, channel: Channel) -> float | None:
    """The step of a channel's values in its unit, from the record, the source or the counts; None: unknown."""
    known = rig.corrections.get(channel.name)
    if known and known.resolution:
        return known.resolution.value
    return channel.resolution or (abs(channel.scale) if channel.dtype.kind == "i" else None)


def _rounding(rig: Rig, seen: _Seen, moments: Moments) -> Iterator[Contribution]:
    """The error of rounding to the last digit. A counter has it twice, at both ends."""
    interval = seen.interval
    for number, (channel, sensitivity, gain) in enumerate(zero_sensitivities(rig, moments)):
        known = seen.step(number)
        if known is None:
            continue  # a note says so
        step, source = known
        if channel.measures is Measures.ENERGY:
            off, unit = math.sqrt(2 / 12) * step * interval.rate_hz / interval.samples, "W"
        else:
            off, unit = rounding(step, before_rounding(seen.rough[number].usual, step)), channel.unit
        name = f"quantisation of {channel.name}"
        yield Contribution(
            f"{_here(interval)}/counts/{channel.name}", name, Kind.B, sensitivity, gain * off, unit, source
        )


def _clock(rig: Rig, mean: float, seen: _Seen) -> Iterator[Contribution]:
    """A cut that is late by d changes the sum by d times the step of power there (docs/uncertainty.md).

    An error that both cuts share makes both early, or both late: the worse case counts.
    """
    interval = seen.interval
    late = [part] if (part := aliasing.delay(rig, interval.rate_hz)) else []
    begin, end = ({part.key: part for part in (*cut.parts, *late)} for cut in (interval.begin, interval.end))
    sides = list(zip(seen.steps(0, mean), seen.steps(1, mean), strict=True))
    for key, part in (begin | end).items():
        at_begin, at_end = (parts[key].weight if key in parts else 0.0 for parts in (begin, end))
        watts = max((at_end * there - at_begin * here for here, there in sides), key=abs)
        off = part.half_width_us / SECOND / math.sqrt(3)
        yield Contribution(key, part.name, Kind.B, watts / interval.seconds, off, "s", part.source)


def _zeros(rig: Rig, interval: Interval, moments: Moments, checks: Checks) -> Iterator[Contribution]:
    if rig.channel.measures is Measures.ENERGY:
        return  # the difference of two readings has no zero
    levels = (math.sqrt(moments.xx), abs(moments.y))
    for (channel, sensitivity, gain), level in zip(zero_sensitivities(rig, moments), levels, strict=False):
        known = rig.corrections.get(channel.name)
        zero = Zero(channel, known.drift if known else None, level, gain)
        keys = (f"{interval.trace}/zero/{channel.name}", f"{_here(interval)}/drift/{channel.name}")
        yield from zero_contributions(zero, checks.verdicts.get(channel.name), sensitivity, keys)


def _missing(interval: Interval, coverage: float, noise: Scatter) -> Iterator[Contribution]:
    """The mean of missing samples may differ from that of the others, by a standard deviation of short stretches."""
    missing = 1.0 - coverage
    if missing > NO_GAP:
        source = f"{100 * missing:.3f} % has no samples"
        name, key = "missing samples", f"{_here(interval)}/missing"
        yield Contribution(key, name, Kind.B, missing, noise.deviation, "W", source)


NO_GAP = 1e-9  # of the interval: rounding errors of sums


def _here(interval: Interval) -> str:
    return f"{interval.trace}/{interval.begin.server_us}-{interval.end.server_us}"


def _notes(rig: Rig, seen: _Seen, checks: Checks) -> tuple[str, ...]:
    notes = [verdict.says for verdict in checks.verdicts.values() if not verdict.holds]
    channel = rig.channel
    if channel.measures in HAVE_A_ZERO and channel.name not in checks.verdicts:
        notes.append(f"{channel.name} has no zero check: the uncertainty has an allowance for the drift of its zero")
    if channel.measures is not Measures.ENERGY and not _own_noise(rig, checks, channel.name):
        notes.append(
            "neither a zero check nor the calibration record gives the noise, so changes of the load count as noise"
        )
    for number, each in enumerate([channel, *([rig.supply] if rig.supply else [])]):
        if seen.step(number) is None:
            notes.append(f"{each.name} did not change, and nothing states its `resolution`: its rounding is unknown")
    return (*rig.notes, *notes)
