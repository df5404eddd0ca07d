# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulates a T61 on a simulated rig: the paper's measurement with any chosen error, and a known truth.

The truth is Table A.2's power for the laptop's load. The rig measures the supply's voltage on the laptop's side of the
shunt: current = power / 20 V, shunt channel = current * shunt_ohm, supply channel = 20 V / divider. Each sample is
the mean over its period, so no load hides between samples. Then come drift and noise, as shares of a channel's range
(+-0.5 V, +-10 V, those of the NI 6034E), then 16 bits. A study counts it as no measurement.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happe_contract.traces import Block, Filter, Gap, Measures, Reason, TimePair
from happe_power.sources import t61
from happe_power.sources.clock import MICROS, Clock, Instant, VirtualClock
from happe_power.sources.source import Reading
from happe_power.sources.spec import OPTIONAL, Found, Kind, Option, Spec, channels_of, list_of, number

SUPPLY_V = 20.0
RANGES_V = (0.5, 10.0)
COUNTS = 1 << 16
HOUR_S = 3600.0
REAL_BATCH_S = 0.05
LARGEST_BLOCK = 1 << 20
MARK = ":"


@dataclass(frozen=True)
class Rig:
    """The simulated load and errors.

    `noise`: standard deviation as a share of a channel's range. `drift`: how far the zero moves in an hour, as a share
    of the range. `rate_ppm`: how much faster than nominal it samples. `drops`: what the driver loses. `shunt_ohm` and
    `divider` are the true values.
    """

    load: t61.Load
    rate_hz: float
    noise: float = 0.0
    drift: float = 0.0
    rate_ppm: float = 0.0
    drops: tuple[Gap, ...] = ()
    shunt_ohm: float = 0.1
    divider: float = 4.0
    seed: int = 1


class Sim:
    """A source without an instrument. Its samples depend only on its rig, not on the reader.

    Unpaced, it is as fast as its reader, and its own clock keeps up with the samples; paced, it follows `clock`.
    """

    kind = "sim"
    device = "simulated T61 on a simulated rig"
    serial: str | None = None

    def __init__(self, rig: Rig, clock: Clock, *, paced: bool) -> None:
        """`clock` gives the times; unpaced, the source moves it."""
        self.rate_hz = rig.rate_hz
        self.patient = not paced
        scales = [2 * volts / COUNTS for volts in RANGES_V]
        ends = [(-COUNTS / 2, COUNTS / 2 - 1)] * 2
        what = (Measures.SHUNT, Measures.SUPPLY)
        mean = Filter("simulated: each sample is the mean over its period", mean_s=1 / rig.rate_hz, ripple=0.0)
        made = channels_of(what, np.dtype(np.int16), scales, ends=ends)
        self.channels = tuple(replace(channel, filter=mean) for channel in made)
        self._rig = rig
        self._clock = clock
        self._paced = paced
        self._noise = [np.random.default_rng([rig.seed, channel]) for channel in range(2)]
        self._period_us = MICROS / rig.rate_hz / (1 + rig.rate_ppm / MICROS)
        self._began = Instant(0, 0)
        self._first = self._made = 0

    def start(self, first_index: int) -> TimePair:
        """Begin. At a second start, the load goes on from where it was."""
        if self._first == self._made == 0:
            now = self._clock.now()
            back = round(first_index * self._period_us)
            self._began = Instant(now.monotonic_us - back, now.realtime_us - back)
        self._first = self._made = first_index
        return self._pair()

    def read(self, timeout_s: float) -> Reading:
        """Return a batch: all samples that are due by the clock, or those of `timeout_s` if unpaced."""
        if not self._paced:
            return self._give(min(LARGEST_BLOCK, max(1, int(timeout_s * self.rate_hz))))
        self._clock.sleep(min(timeout_s, REAL_BATCH_S))
        if self._ready() == 0:
            self._clock.sleep(min(timeout_s - REAL_BATCH_S, self._period_us / MICROS))
        ready = self._ready()
        return self._give(ready) if ready else Reading((), None)

    def stop(self) -> None:
        """Do nothing, as there is no instrument."""

    def truth_watts(self, from_index: int, to_index: int) -> float:
        """The mean power over the time of some samples, as a perfect meter would show it."""
        return float(self._rig.load.means(np.array([from_index, to_index]) * self._period_us)[0])

    def _ready(self) -> int:
        passed = self._clock.now().monotonic_us - self._began.monotonic_us
        return min(LARGEST_BLOCK, max(0, int(passed / self._period_us) - self._made))

    def _give(self, count: int) -> Reading:
        """Return the next samples, with gaps for dropped ones."""
        begin, end = self._made, self._made + count
        columns = self._columns(begin, end)
        self._made = end
        if not self._paced:
            self._clock.sleep((self._pair().monotonic_us - self._clock.now().monotonic_us) / MICROS)
        items: list[Block | Gap] = []
        at = begin
        for drop in self._rig.drops:
            first, last = max(at, drop.from_index), min(end, drop.to_index)
            if first >= last:
                continue
            if first > at:
                items.append(Block(at, tuple(column[at - begin : first - begin] for column in columns)))
            items.append(Gap(first, last, drop.reason))
            at = last
        if at < end:
            items.append(Block(at, tuple(column[at - begin :] for column in columns)))
        return Reading(tuple(items), self._pair())

    def _columns(self, begin: int, end: int) -> list[NDArray[Any]]:
        edges_us = np.arange(begin, end + 1, dtype=np.float64) * self._period_us
        times_us = edges_us[:-1]
        shunt = self._rig.load.means(edges_us) / SUPPLY_V * self._rig.shunt_ohm
        volts = (shunt, np.full(end - begin, SUPPLY_V / self._rig.divider))
        return [self._counts(channel, volts[channel], times_us) for channel in range(2)]

    def _counts(self, channel: int, volts: NDArray[np.float64], times_us: NDArray[np.float64]) -> NDArray[np.int16]:
        """Add drift and noise, and quantise to 16 bits, clipped to the range."""
        full = RANGES_V[channel]
        drift = times_us * (self._rig.drift * full / HOUR_S / MICROS)
        noise = self._noise[channel].standard_normal(len(volts)) * (self._rig.noise * full)
        counts = np.rint((volts + drift + noise) / (2 * full) * COUNTS)
        return np.clip(counts, -COUNTS // 2, COUNTS // 2 - 1).astype(np.int16)

    def _pair(self) -> TimePair:
        after = round(self._made * self._period_us)
        return TimePair(self._made, self._began.monotonic_us + after, self._began.realtime_us + after)


def make(spec: Spec, clock: Clock) -> Sim:
    """Make a source of a simulated T61."""
    always = t61.constant(spec.whole("khz"), spec.number("utilisation"))
    load = t61.load_of(Path(spec.place)) if spec.place else always
    rate = spec.number("rate")
    rig = Rig(
        load.with_markers(_markers(spec)),
        rate,
        noise=spec.number("noise"),
        drift=spec.number("drift"),
        rate_ppm=spec.number("ppm"),
        drops=_drops(spec, rate),
        shunt_ohm=spec.number("shunt"),
        divider=spec.number("divider"),
        seed=spec.whole("seed"),
    )
    paced = spec.text_of("pace") == "real"
    return Sim(rig, clock if paced else VirtualClock.at(clock.now()), paced=paced)


def _markers(spec: Spec) -> list[int]:
    return [round(second * MICROS) for second in spec.items("marker")]


def _drops(spec: Spec, rate: float) -> tuple[Gap, ...]:
    """Convert drop = [[60, 0.5], [90, 1]], which loses half a second from second 60 on, and one second from 90 on."""
    drops: list[Gap] = []
    for start, length in spec.items("drop"):
        drop = Gap(round(start * rate), round((start + length) * rate), Reason.OVERFLOW)
        if not (drops[-1].to_index if drops else 0) <= drop.from_index < drop.to_index:
            raise spec.wrong("drop", "stretches must ascend, must not overlap, and need a length")
        drops.append(drop)
    return tuple(drops)


def find() -> list[Found]:
    """The simulation, which needs no instrument."""
    return [Found("sim", {"kind": "sim"} | EXAMPLE, "a simulated T61, not a measurement")]


PAIR = list_of(number(0, 1e9)) | {"minItems": 2, "maxItems": 2}
EXAMPLE = {"rate": 10000, "noise": 0.002, "seed": 7}
PACES = {"enum": ["real", "none"]}
KIND = Kind(
    "sim",
    "a simulated T61 (Table A.2) on a simulated rig; no measurement",
    "the load: a run record (JSON) or a script (CSV of seconds,khz,utilisation)",
    EXAMPLE,
    (
        Option("rate", 10000, "samples of each channel a second", number(0.01, 1e7)),
        Option("khz", 2300000, "the frequency in kHz, without a file of loads", number(1, 1e8, whole=True)),
        Option("utilisation", 1, "the utilisation of CPU 0, from 0 to 1, without a file of loads", number(0, 1)),
        Option("noise", 0.001, "standard deviation of noise, as a share of a channel's range", number(0, 1)),
        Option("drift", 0, "how far the zero moves in an hour, as a share of the range", number(-1, 1)),
        Option("ppm", 0, "how much faster than nominal it really samples, in parts per million", number(-1e5, 1e5)),
        Option(
            "drop", OPTIONAL, "stretches that the driver loses: a list of [START, LENGTH] in seconds", list_of(PAIR)
        ),
        Option("marker", OPTIONAL, "a list of the seconds at which the marker pattern is played", list_of(number(0))),
        Option("shunt", 0.1, "the simulated resistance in ohm", number(1e-6, 100)),
        Option("divider", 4, "the supply's volts for a volt at the input", number(1, 1e6)),
        Option("seed", 1, "of the noise", number(0, 2**53, whole=True)),
        Option("pace", "real", "real: at an instrument's pace; none: as fast as possible, with times to match", PACES),
    ),
    make,
    find,
)
