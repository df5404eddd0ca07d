# SPDX-License-Identifier: GPL-2.0-or-later
"""The content of a power trace. Formats and meanings: docs/uploads.md, Power traces."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from _typeshed import DataclassInstance
    from numpy.typing import NDArray


class Measures(StrEnum):
    """The quantity of a channel, before the arithmetic with shunt and divider."""

    SHUNT = "shunt"  # volts over the shunt
    SUPPLY = "supply"  # volts of the laptop's supply, by the divider if there is one
    CURRENT = "current"  # amperes
    POWER = "power"  # watts
    ENERGY = "energy"  # joules, a counter whose wraps have been undone
    MARKER = "marker"  # volts of a line, a light or a sound that the laptop switches: it marks time, and gives no power


class Reason(StrEnum):
    """Why indices have no row."""

    OVERFLOW = "overflow"  # the instrument's or driver's buffer ran over
    STALL = "stall"  # no sample came in time; the clock gives the indices
    UNPLUGGED = "unplugged"  # the instrument went away
    SATURATED = "saturated"  # a channel was at the end of its range
    INVALID = "invalid"  # NaN, an impossible value, or a short read
    STORAGE = "storage"  # the samples could not be written: the disk was full or read-only
    KILLED = "killed"  # the program ended before it could write
    ZERO = "zero"  # the inputs were shorted for a zero check


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of a signal before the sampling, and the source of that knowledge.

    Either a low pass of `poles` equal poles, at whose `bandwidth_hz` each pole takes 3 dB off the amplitude, or, with
    `mean_s`, an instrument whose samples are means over so many seconds. `ripple` is the rms of the part that the
    filter removes, in the channel's unit; None: nobody has measured it.
    """

    source: str
    bandwidth_hz: float | None = None
    poles: int = 1
    mean_s: float | None = None
    ripple: float | None = None

    def leak(self, rate_hz: float) -> float:
        """The largest error of a mean of samples, as a share of the mean of a signal that is never negative.

        The worst such signal is a train of short pulses in time with the samples. One pole turns it into an exponential
        saw-tooth, whose peak is u / (1 - exp(-u)) times its mean, with u = 2 pi bandwidth / rate. With more poles, the
        bound is the sum of the harmonics, each twice the mean before the filter. A mean over a time contains one pulse
        too many or too few; if the time is a whole number of sample periods, every harmonic is at a zero of sinc.
        """
        if self.mean_s is not None:
            return _leak_of_mean(rate_hz * self.mean_s)
        assert self.bandwidth_hz is not None  # noqa: S101 - one of the two is there
        times = rate_hz / self.bandwidth_hz
        if self.poles == 1:
            return 2 * math.pi / times / -math.expm1(-2 * math.pi / times) - 1
        return 2 * math.fsum((1 + (k * times) ** 2) ** (-self.poles / 2) for k in range(1, HARMONICS + 1))


HARMONICS = 1000
WHOLE = 1e-3  # of a period: the largest misfit of a rate to the time of a mean


def _leak_of_mean(periods: float) -> float:
    rest = periods - round(periods)
    if periods >= 0.5 and abs(rest) <= WHOLE:  # noqa: PLR2004 - round gives 1 at least
        return 2 * abs(math.sin(math.pi * periods) / (math.pi * periods))
    rest = periods % 1
    return max(rest, 1 - rest) / periods


@dataclass(frozen=True, slots=True)
class Channel:
    """One column: value = raw * scale + offset, in `unit` at the instrument's input.

    `dtype` is the type of the instrument's raw values: int16, int32, int64, float32 or float64. `lowest` and `highest`
    are the raw values at the ends of its range, where it saturates; None: unknown, or no end. `filter` is the filter
    before the sampling, if the source knows it. `resolution` is the step of its values in `unit`, if that is not the
    scale of an integer; None: nobody states it.
    """

    name: str
    measures: Measures
    unit: str  # V, A, W, J
    dtype: np.dtype[Any]
    scale: float
    offset: float
    lowest: float | None = None
    highest: float | None = None
    filter: Filter | None = None
    resolution: float | None = None


@dataclass(frozen=True, slots=True)
class TimePair:
    """A sample's index and its time, read together: CLOCK_MONOTONIC and the wall clock, in microseconds."""

    index: int
    monotonic_us: int
    realtime_us: int


@dataclass(frozen=True, slots=True)
class Block:
    """Samples without a gap: a column for each channel, all of one length; row `i` has index `first_index + i`."""

    first_index: int
    columns: tuple[NDArray[Any], ...]

    @property
    def rows(self) -> int:
        """The number of samples of each channel."""
        return len(self.columns[0])

    @property
    def end_index(self) -> int:
        """One past the last index."""
        return self.first_index + self.rows


@dataclass(frozen=True, slots=True)
class Gap:
    """Indices from `from_index` up to, but without, `to_index` that have no row, and the reason."""

    from_index: int
    to_index: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class ClockEstimate:
    """Server time = monotonic time of this host + `offset_us`, within `uncertainty_us` (a bound, half the round trip).

    Taken at `monotonic_us`; docs/uploads.md, Clocks.
    """

    monotonic_us: int
    offset_us: int
    uncertainty_us: int


@dataclass(frozen=True, slots=True)
class Quantity:
    """A measured quantity: best estimate, standard uncertainty (k = 1, in the value's unit), and how it is known."""

    value: float
    standard_uncertainty: float
    source: str


def stated(value: DataclassInstance) -> dict[str, Any]:
    """A dataclass as JSON values, without what is None."""
    return asdict(value, dict_factory=lambda pairs: {name: _json(each) for name, each in pairs if each is not None})


def _json(value: object) -> object:
    return value.isoformat() if isinstance(value, dt.date) else value
