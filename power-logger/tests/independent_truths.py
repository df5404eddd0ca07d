# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions with a true power from physics alone. This module uses no code and no formula of HAPPE.

A laptop takes a current that changes in steps. It may also switch a thousand times a second. A supply with an internal
resistance feeds the laptop through a shunt. An instrument samples the shunt's voltage and, through a divider, the
supply's, with the errors of its case. This module draws the errors from the uncertainties that the calibration record
states. The truth is the integral of current times voltage at the laptop. Time is the server's, in seconds from the
session's beginning.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

SERVER_US = 1_793_440_000_000_000  # at second 0
LASTS_S = 60.0
INTERVAL_S = (8.0, 28.0)
REFERENCE_S = (29.0, 49.0)
STEPS = ((-1e9, 1.2), (8.02, 2.0), (20.0, 1.4), (28.0, 2.2))  # from a second on, amperes
SUPPLY_V, SUPPLY_OHM = 20.0, 0.05
GRID_HZ = 8000  # for filtered signals
RIPPLE_V = 0.1  # rms of half of 2 A over the shunt: the ripple that records state for a switched load
CHECK_S = 4.0  # the length of each zero check
RANGE_V = (0.5, 10.0)


@dataclass(frozen=True)
class Case:
    """A rig and its errors. Volts are those at the instrument's inputs for shunt and supply."""

    name: str
    bits: int = 16
    rate_hz: float = 50.0
    off_ppm: float | None = None  # the error of the rate; None: anything up to 100
    switched_hz: float = 0.0  # how often the load switches; each state lasts half of a period
    duty: float | None = None  # instead, the load takes current for this share of a period, and then none
    ripple_v: float | None = 0.0  # what the record states for an instrument that averages; None: nothing
    in_time: bool = False  # the switching rate is an exact multiple of the sampling rate
    samples_at_instants: bool = False  # not means over their periods
    filter_hz: float | None = None  # a filter of two poles before the sampling, which the record states
    gaps: int = 0
    checks: int = 0  # zero checks, spread evenly from before the session to after it
    noise_v: tuple[float, float] = (4e-4, 8e-4)  # white noise of a sample
    flicker_v: float = 0.0  # the shunt's 1/f noise: the Allan deviation that does not fall
    ramp_v: float = 0.0  # the shunt: standard deviation of the even move of its zero
    hump_v: float = 0.0  # the same, but the zero moves there and back
    drift_v: float | None = 3e-6  # the drift of the shunt's zero in the record; None: the record does not state it
    step_w: float = 0.0  # in place of shunt and supply, a wattmeter gives floats in such steps
    states_step: bool = False
    noise_in_record: bool = False  # the record states the white noise; without a check it is the only source of it
    starts_at_s: float = 0.0  # how long after the recording the session begins
    timed: bool = True  # the instrument's clock gives times; False: a file without times
    limits: dict[str, float] = field(default_factory=dict)  # limits of refusal that differ from the defaults


@dataclass(frozen=True)
class Session:
    """A recorded session: a header by power-trace.schema.json, and the content of parts and journals."""

    header: dict[str, Any]
    first_index: int
    columns: tuple[NDArray[Any], ...]
    gaps: list[tuple[int, int]]
    pairs: list[tuple[int, int]]  # index, monotonic microseconds
    estimates: list[tuple[int, int, int]]  # monotonic, server minus monotonic, bound; microseconds
    checks: list[NDArray[Any]]  # the first channel's values without current, one check after the other
    interval_us: tuple[int, int]
    watts: float
    reference_us: tuple[int, int]
    reference_watts: float


def stated(value: float, uncertainty: float) -> dict[str, Any]:
    """Return a quantity for a record."""
    return {"value": value, "standard_uncertainty": uncertainty, "source": "drawn"}


def session(case: Case, rng: np.random.Generator) -> Session:
    """Draw a session of a case."""
    clock = _Clock(case, rng)
    zero = _Zero(case, rng, clock)
    columns, channels, calibration, checks = (_wattmeter if case.step_w else _rig)(case, rng, clock, zero)
    first = max(0, math.floor(clock.index(case.starts_at_s)))
    gaps = [
        (at, at + int(rng.integers(1, 3)))
        for at in sorted(rng.choice(np.arange(first + 500, first + 1300, 10), case.gaps, replace=False).tolist())
    ]
    header = {
        "format": "happe-power-trace/1",
        "id": "2b1e5a52-0c1d-4e3f-8a9b-001122334455",
        "study": "a-study",
        "meter": "M3TERAAA",
        "measured": "1APT0PAA",
        "clock": "monotonic:0f8fad5b-d9cb-469f-a165-70867728950e",
        "source": {"kind": "comedi" if case.timed else "file", "device": "drawn"},
        "channels": channels,
        "rate_hz": case.rate_hz,
        "calibration": calibration,
        "started": {"index": 0, "monotonic_us": clock.pairs[0][1], "realtime_us": SERVER_US},
        "part_seconds": 10,
        "part_format": "parquet",
        "software": {"happe-power": "0.1.0"},
    }
    intervals = [[case.starts_at_s + at for at in each] for each in (INTERVAL_S, REFERENCE_S)]
    truths = [
        ((_server_us(begin), _server_us(end)), _joules(case, clock, begin, end) / (end - begin))
        for begin, end in intervals
    ]
    return Session(
        header,
        first,
        columns,
        gaps,
        clock.pairs,
        clock.estimates,
        checks,
        *truths[0],
        *truths[1],
    )


def _server_us(second: float) -> int:
    return SERVER_US + round(second * 1e6)


class _Clock:
    """The times of the samples, and the host's knowledge of them."""

    def __init__(self, case: Case, rng: np.random.Generator) -> None:
        ppm = rng.uniform(-100, 100) if case.off_ppm is None else case.off_ppm * rng.choice([-1, 1])
        self.hz = case.rate_hz * (1 + ppm * 1e-6)
        self.begins_s = rng.uniform(-0.9, -0.5)  # the first sample
        self.size = rng.uniform(0.8, 1.2)  # of the load
        self.phase = rng.uniform(0, 1)  # the place of the first sample in the period of a switched load
        self._monotonic_us = rng.uniform(1e9, 1e11)
        self._drift = rng.uniform(-3e-5, 3e-5)
        lasts_s = case.starts_at_s + LASTS_S
        self.pairs = [
            (index, round(self.monotonic_us(self.second(index)) + rng.exponential(200)))
            for index in range(0, math.ceil(lasts_s * case.rate_hz) + 1, math.ceil(case.rate_hz))
        ]
        if not case.timed:
            began_us = self.pairs[0][1]
            self.pairs = [(index, began_us + round(index * 1e6 / case.rate_hz)) for index, _ in self.pairs]
        self.estimates = []
        for second in np.arange(-20.0, lasts_s + 60, 60.0):
            monotonic_us = round(self.monotonic_us(float(second)))
            error_us = rng.uniform(-4000, 4000)
            self.estimates.append((monotonic_us, round(SERVER_US + second * 1e6 - monotonic_us + error_us), 4000))

    def second(self, index: float) -> float:
        """Return when a sample begins."""
        return self.begins_s + index / self.hz

    def index(self, second: float) -> float:
        """Return the sample that a second falls into."""
        return (second - self.begins_s) * self.hz

    def monotonic_us(self, second: float) -> float:
        """Return the host's clock at a second."""
        return self._monotonic_us + (second - self.begins_s) * 1e6 * (1 - self._drift)


class _Zero:
    """The value of the shunt's channel without current: a course over the session with 1/f noise on it."""

    def __init__(self, case: Case, rng: np.random.Generator, clock: _Clock) -> None:
        self._from_s = case.starts_at_s - 10.0
        self._lasts_s = LASTS_S + 20.0
        self._ramp_v, self._hump_v = rng.normal(0, 1, 2) * (case.ramp_v, case.hump_v)
        self._hz = clock.hz
        count = math.ceil(self._lasts_s * clock.hz) + 2
        self._flicker = case.flicker_v * _flicker(rng, count) if case.flicker_v else np.zeros(count)

    def at(self, seconds: Values) -> Values:
        """Return the volts at some times."""
        share = (seconds - self._from_s) / self._lasts_s
        course: Values = self._ramp_v * share + self._hump_v * np.sin(np.pi * share)
        course += self._flicker[((seconds - self._from_s) * self._hz).astype(int)]
        return course

    def checks(self, case: Case) -> list[Values]:
        """Return the times of the samples of each check."""
        begins = np.linspace(self._from_s, self._from_s + self._lasts_s - CHECK_S - 0.1, case.checks)
        return [begin + np.arange(round(CHECK_S * self._hz)) / self._hz for begin in begins]


def _flicker(rng: np.random.Generator, count: int) -> Values:
    """Return 1/f noise of power h / f for which the Allan deviation, sqrt(2 ln 2 h), is 1; made in the spectrum."""
    share = np.fft.rfftfreq(8 * count)[1:] ** -0.5
    drawn = (rng.normal(size=len(share)) + 1j * rng.normal(size=len(share))) * share
    made: Values = np.fft.irfft(np.concatenate([[0], drawn]), norm="ortho")[:count]
    return made / math.sqrt(4 * math.log(2))  # drawn has a variance of 2 in each half of the spectrum, so h is 2


def _edges(case: Case, clock: _Clock, begin: float, end: float) -> tuple[Values, Values]:
    """Return `begin`, `end` and the times between them at which the current changes, and the amperes from each on."""
    steps = [case.starts_at_s * (since > -1e8) + since for since, _ in STEPS]  # noqa: PLR2004 - ever before
    times = np.array(steps)
    if case.switched_hz:
        hertz = round(case.switched_hz / clock.hz) * clock.hz if case.in_time else case.switched_hz
        origin = clock.begins_s - clock.phase / hertz
        periods = np.arange(math.floor((begin - origin) * hertz), math.ceil((end - origin) * hertz) + 1)
        times = np.concatenate([times, *(origin + (periods + share) / hertz for share in (0.0, case.duty or 0.5))])
    times = np.unique(np.clip(times, begin, end))
    times = np.unique(np.concatenate([[begin], times, [end]]))
    middles = (times[1:] + times[:-1]) / 2
    amperes = (
        clock.size * np.array([amperes for _, amperes in STEPS])[np.searchsorted(steps, middles, side="right") - 1]
    )
    if case.switched_hz:
        high, low = (1.5, 0.0) if case.duty else (1.5, 0.5)
        amperes = amperes * np.where((middles - origin) * hertz % 1 < (case.duty or 0.5), high, low)
    return times, amperes


def _joules(case: Case, clock: _Clock, begin: float, end: float) -> float:
    """Return the laptop's energy. Its voltage is the supply's minus the drops over its resistance and the shunt."""
    times, amperes = _edges(case, clock, begin, end)
    watts = amperes * (SUPPLY_V - (SUPPLY_OHM + _OHM_SEEN) * amperes)
    return float(watts @ np.diff(times))


_OHM_SEEN = 0.1  # the shunt's resistance for the drop of voltage, where the drawn difference does not matter


def _means(case: Case, clock: _Clock, begins: Values, period: float) -> Values:
    """Return the mean amperes over the period that follows each of some times."""
    times, amperes = _edges(case, clock, float(begins[0]) - 1, float(begins[-1]) + period + 1)
    charge = np.concatenate([[0.0], np.cumsum(amperes * np.diff(times))])
    found: Values = (np.interp(begins + period, times, charge) - np.interp(begins, times, charge)) / period
    return found


def _seen(case: Case, clock: _Clock, begins: Values) -> Values:
    """Return the amperes at the instrument's inputs for each sample, without noise."""
    period = 1 / clock.hz
    if case.filter_hz is not None:
        cells = 1 << math.ceil(math.log2((begins[-1] - begins[0] + 1) * GRID_HZ))
        grid = (math.floor(begins[0] * GRID_HZ) + np.arange(cells)) / GRID_HZ
        rough = _means(case, clock, grid, 1 / GRID_HZ)
        turns = np.fft.rfftfreq(cells, 1 / GRID_HZ) / case.filter_hz
        smooth = np.fft.irfft(np.fft.rfft(rough) / (1 + 1j * turns) ** 2, cells)
        found: Values = np.interp(begins + period / 2, grid + 0.5 / GRID_HZ, smooth)
        return found
    if case.samples_at_instants:
        times, amperes = _edges(case, clock, float(begins[0]), float(begins[-1]) + period)
        return np.asarray(amperes[np.searchsorted(times, begins + period / 2, side="right") - 1])
    return _means(case, clock, begins, period)


def _sampled(case: Case, clock: _Clock) -> Values:
    """Return when each kept sample begins."""
    first = max(0, math.floor(clock.index(case.starts_at_s)))
    return clock.begins_s + np.arange(first, first + round((LASTS_S - 2) * clock.hz)) / clock.hz


Made = tuple[tuple["NDArray[Any]", ...], list[dict[str, Any]], dict[str, Any], list["NDArray[Any]"]]


def _rig(case: Case, rng: np.random.Generator, clock: _Clock, zero: _Zero) -> Made:
    """Make shunt and supply, and a record that states the uncertainties from which their errors are drawn."""
    of = {"ohm": (0.1, 1e-5), "divider": (3.01, 6e-4), "gain": (1.0, 1e-4), "zero": (-2e-5, 5e-6)}
    of |= {"supply gain": (0.9999, 1e-4), "supply zero": (1e-3, 1e-4)}
    true = {name: rng.normal(*drawn) for name, drawn in of.items()}
    begins = _sampled(case, clock)
    amperes = _seen(case, clock, begins)
    volts = (
        (true["ohm"] * amperes - true["zero"]) / true["gain"] + zero.at(begins),
        ((SUPPLY_V - SUPPLY_OHM * amperes) / true["divider"] - true["supply zero"]) / true["supply gain"],
    )
    scales = [2 * volts / 2**case.bits for volts in RANGE_V]
    columns = tuple(
        np.rint((each + rng.normal(0, noise, len(each))) / scale).astype(np.int16)
        for each, noise, scale in zip(volts, case.noise_v, scales, strict=True)
    )
    shorted = [-true["zero"] / true["gain"] + zero.at(times) for times in zero.checks(case)]
    checks = [np.rint((v + rng.normal(0, case.noise_v[0], len(v))) / scales[0]).astype(np.int16) for v in shorted]
    filter_: dict[str, Any] = {}
    if case.filter_hz is not None:
        filter_ = {"filter": {"bandwidth_hz": case.filter_hz, "poles": 2, "source": "drawn", "ripple": RIPPLE_V}}
    elif not case.samples_at_instants:
        filter_ = {"filter": {"mean_s": 1 / case.rate_hz, "source": "drawn"}}
        if case.ripple_v is not None:
            filter_["filter"]["ripple"] = case.ripple_v
    corrections: dict[str, dict[str, Any]] = {
        "shunt": {"gain": stated(*of["gain"]), "zero": stated(*of["zero"])},
        "supply": {"gain": stated(*of["supply gain"]), "zero": stated(*of["supply zero"])},
    }
    for (name, each), noise in zip(corrections.items(), case.noise_v, strict=True):
        if case.noise_in_record:
            each["noise"] = stated(noise, noise / 50)
        drift_v = 0.0 if name == "supply" else case.drift_v
        if drift_v is not None:
            each["drift"] = stated(0, drift_v)
    channels = [
        {"name": name, "measures": name, "unit": "V", "dtype": "int16", "scale": scale, "offset": 0.0} | filter_
        for name, scale in zip(corrections, scales, strict=True)
    ]
    calibration = _record(corrections) | {
        "shunt_ohm": stated(*of["ohm"]),
        "divider": stated(*of["divider"]),
        "wiring": {"shunt": "return", "supply_measured": "before"},
    }
    return columns, channels, calibration, checks


def _wattmeter(case: Case, rng: np.random.Generator, clock: _Clock, _zero: _Zero) -> Made:
    """Make an instrument that gives watts as floats, rounded to its step. Its noise is a tenth of the step."""
    gain = rng.normal(1.0, 1e-4)
    amperes = _means(case, clock, _sampled(case, clock), 1 / clock.hz)
    watts = amperes * (SUPPLY_V - (SUPPLY_OHM + _OHM_SEEN) * amperes) / gain
    column = np.rint((watts + rng.normal(0, case.step_w / 10, len(watts))) / case.step_w) * case.step_w
    channel = {"name": "power", "measures": "power", "unit": "W", "dtype": "float64", "scale": 1.0, "offset": 0.0}
    channel["filter"] = {"mean_s": 1 / case.rate_hz, "source": "drawn"}
    if case.states_step:
        channel["resolution"] = case.step_w
    correction = {"gain": stated(1.0, 1e-4), "zero": stated(0, 0), "drift": stated(0, 0)}
    correction["noise"] = stated(case.step_w / 10, case.step_w / 500)
    return (column,), [channel], _record({"power": correction}), []


def _record(corrections: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": "drawn",
        "sha256": "0" * 64,
        "date": "2026-01-01",
        "expires": "2099-01-01",
        "channels": corrections,
    }
