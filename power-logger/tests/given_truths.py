# SPDX-License-Identifier: GPL-2.0-or-later
"""Synthetic sessions with a known true power.

The code draws a rig and clocks from the uncertainties that a calibration record and clock estimates state. Then it
makes the counts that such an instrument would give. Tests compare the results of the arithmetic with the truth.

A session lasts a minute of server time, sampled at 50 Hz. The load is 1.2 A, from 5.02 s 2.0 A, from 30.01 s 1.4 A.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from happe_contract.calibration import Calibration, Correction, ShuntLine, SupplyTap, Wiring
from happe_contract.cuts import Clocks
from happe_contract.measuring.energy import Interval
from happe_contract.measuring.zeros import Checks, checks_of, read_zero
from happe_contract.server_time import server_clock
from happe_contract.time_base import time_base
from happe_contract.traces import Block, Channel, ClockEstimate, Filter, Measures, Quantity, TimePair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Load = tuple[tuple[float, float], ...]

RATE_HZ = 50.0
SECONDS = 60
SAMPLES = 3000
ZERO_SAMPLES = 1000
SERVER_US = 1_793_440_000_000_000
FIRST = (5_000_000, 25_000_000)  # cuts, microseconds into the session
SECOND = (32_000_000, 54_000_000)
LOAD = ((-1e9, 1.2), (5.02, 2.0), (30.01, 1.4))  # from this second on, amperes
SUPPLY_V, SUPPLY_OHM = 20.0, 0.05
BOUND_US = 4_000  # the uncertainty of each clock estimate
PHI = 0.8  # the coefficient of the noise's AR(1)
NOISE_V = (4e-4, 8e-4)  # the noise of shunt and supply, at the instrument
DRIFT_V = (6e-5, 5e-4)  # the drift of their zeros over the session
COURSE = np.linspace(-0.5, 0.5, SAMPLES)

SHUNT = Channel("shunt", Measures.SHUNT, "V", np.dtype("int16"), 0.5 / 32768, 0.0)
SUPPLY = Channel("supply", Measures.SUPPLY, "V", np.dtype("int16"), 10 / 32768, 0.0)
CHANNELS = (SHUNT, SUPPLY)


def known(value: float, uncertainty: float) -> Quantity:
    """Return a quantity for a record."""
    return Quantity(value, uncertainty, "a test")


MEAN = Filter("a test", mean_s=1 / RATE_HZ, ripple=0.0)
RECORD = Calibration(
    name="rig",
    sha256="0" * 64,
    date=dt.date(2026, 10, 1),
    expires=dt.date(2027, 10, 1),
    shunt_ohm=known(0.1002, 6e-5),
    divider=known(3.01, 1.5e-3),
    wiring=Wiring(ShuntLine.RETURN, SupplyTap.BEFORE),
    channels={
        "shunt": Correction(known(1.0003, 4e-4), known(-2e-5, 4e-5), drift=known(0, 0), filter=MEAN),
        "supply": Correction(known(0.9999, 3e-4), known(1e-3, 1e-3), drift=known(0, 0), filter=MEAN),
    },
)


@dataclass(frozen=True)
class Truth:
    """One session: the recorded data, and the true power."""

    block: Block
    clocks: Clocks
    checks: Checks
    watts: tuple[float, float]  # the means over FIRST and SECOND

    def interval(self, cuts: tuple[int, int]) -> Interval:
        """An interval of the session."""
        return Interval("trace", *(self.clocks.cut(SERVER_US + cut) for cut in cuts))


def truths(seed: int, count: int, *, steady: bool = False) -> Iterator[Truth]:
    """Yield the truths of a seed. `steady`: the load never changes, and there is no zero check."""
    rng = np.random.default_rng(seed)
    noise = [_noise(rng, count, volts) for volts in NOISE_V]
    for number in range(count):
        yield _truth(rng, [each[number] for each in noise], steady=steady)


def _noise(rng: np.random.Generator, count: int, deviation: float) -> Values:
    """Return AR(1) noise, a row for each truth."""
    drawn = rng.normal(0, deviation, (SAMPLES + 2 * ZERO_SAMPLES, count))
    for i in range(1, len(drawn)):
        drawn[i] = PHI * drawn[i - 1] + np.sqrt(1 - PHI**2) * drawn[i]
    return drawn.T


def _truth(rng: np.random.Generator, noise: list[Values], *, steady: bool) -> Truth:
    ohm, divider = _drawn(rng, RECORD.shunt_ohm), _drawn(rng, RECORD.divider)
    corrections = [(_drawn(rng, each.gain), _drawn(rng, each.zero)) for each in RECORD.channels.values()]
    clocks, begins_s, rate_hz = _clocks(rng)
    load = LOAD[:1] if steady else LOAD
    amperes = _amperes(load, begins_s + (np.arange(SAMPLES) + 0.5) / rate_hz)
    volts = (ohm * amperes, (SUPPLY_V - SUPPLY_OHM * amperes) / divider)
    drifts = [0.0 if steady else rng.normal(0, volts) for volts in DRIFT_V]
    columns = tuple(
        _counts(channel, (true - zero) / gain + here[ZERO_SAMPLES:-ZERO_SAMPLES] + drift * COURSE)
        for channel, true, (gain, zero), here, drift in zip(CHANNELS, volts, corrections, noise, drifts, strict=True)
    )
    checks = Checks({}, {}) if steady else _checks(corrections, noise, drifts)
    watts = (_mean_watts(load, ohm, FIRST), _mean_watts(load, ohm, SECOND))
    return Truth(Block(0, columns), clocks, checks, watts)


def _drawn(rng: np.random.Generator, quantity: Quantity | None) -> float:
    assert quantity is not None
    return rng.normal(quantity.value, quantity.standard_uncertainty)


def _counts(channel: Channel, volts: Values) -> NDArray[np.int16]:
    counts = np.rint((volts - channel.offset) / channel.scale)
    assert np.abs(counts).max() <= np.iinfo(np.int16).max
    return counts.astype(np.int16)


def _clocks(rng: np.random.Generator) -> tuple[Clocks, float, float]:
    """Return the logger's knowledge of its clocks, and the truth: the second at which it began, and its rate."""
    rate_hz = RATE_HZ * (1 + rng.uniform(-1e-4, 1e-4))
    begins_s = rng.uniform(-0.5, 0.0)
    mono_us = round(rng.uniform(1e9, 1e11))  # when the recording began
    offset_us = SERVER_US + begins_s * 1e6 - mono_us
    drift = rng.uniform(-3e-5, 3e-5)
    at = np.arange(0, SAMPLES + 1, round(RATE_HZ))
    late_us = rng.exponential(200.0, len(at))
    times = mono_us + at / rate_hz * 1e6 * (1 - drift) + late_us
    pairs = [TimePair(int(i), int(t), 0) for i, t in zip(at, times, strict=True)]
    estimates = [
        ClockEstimate(
            mono_us + away,
            round(offset_us + drift * away / (1 - drift) + rng.uniform(-BOUND_US, BOUND_US)),
            BOUND_US,
        )
        for away in (-20_000_000, 100_000_000)
    ]
    server = server_clock("monotonic:test", estimates)
    assert server is not None
    return Clocks(time_base(pairs, [], RATE_HZ), server), begins_s, rate_hz


def _amperes(load: Load, seconds: NDArray[np.floating]) -> Values:
    found: Values = np.select([seconds >= since for since, _ in reversed(load)], [a for _, a in reversed(load)])
    return found


def _checks(corrections: list[tuple[float, float]], noise: list[Values], drifts: Sequence[float]) -> Checks:
    """Return zero checks right before and right after the session."""
    before, after = (
        [
            read_zero(channel, 0, [Block(0, (_counts(channel, (0.0 - zero) / gain + here[part] + at * drift),))], 0)
            for channel, (gain, zero), here, drift in zip(CHANNELS, corrections, noise, drifts, strict=True)
        ]
        for part, at in ((slice(ZERO_SAMPLES), -0.5), (slice(-ZERO_SAMPLES, None), 0.5))
    )
    return checks_of([*before, *after], RECORD)


def _mean_watts(load: Load, ohm: float, cuts: tuple[int, int]) -> float:
    """Return the laptop's mean power without the shunt's own, because the supply is measured before the shunt."""
    begin, end = (cut / 1e6 for cut in cuts)
    edges = [max(since, begin) for since, _ in load] + [end]
    lengths = [max(min(after, end) - before, 0.0) for before, after in pairwise(edges)]
    watts = [a * (SUPPLY_V - SUPPLY_OHM * a - ohm * a) for _, a in load]
    return sum(length * each for length, each in zip(lengths, watts, strict=True)) / (end - begin)
