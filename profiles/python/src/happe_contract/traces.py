# SPDX-License-Identifier: GPL-2.0-or-later
"""What a power trace holds. Formats and meanings: docs/uploads.md, Power traces."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Measures(StrEnum):
    """What a channel's value is, before shunt and divider are reckoned with."""

    SHUNT = "shunt"  # volts over the shunt
    SUPPLY = "supply"  # volts of the laptop's supply, by the divider if there is one
    CURRENT = "current"  # amperes
    POWER = "power"  # watts
    ENERGY = "energy"  # joules, a counter whose wraps have been undone


class Reason(StrEnum):
    """Why indices have no row."""

    OVERFLOW = "overflow"  # the instrument's or driver's buffer ran over
    STALL = "stall"  # no sample came in time; the indices are from the clock
    UNPLUGGED = "unplugged"  # the instrument went away
    SATURATED = "saturated"  # a channel stood at the end of its range
    INVALID = "invalid"  # NaN, out of the possible, a short read
    STORAGE = "storage"  # it could not be written: the disk was full or read-only
    KILLED = "killed"  # the program ended before it could write


@dataclass(frozen=True, slots=True)
class Channel:
    """One column: value = raw * scale + offset, in `unit` at the instrument's input.

    `dtype` is what the instrument gives, uncorrected: int16, int32, int64, float32 or float64. `lowest` and `highest`
    are the raw values at the ends of its range, where it saturates; None: it has none that is known.
    """

    name: str
    measures: Measures
    unit: str  # V, A, W, J
    dtype: np.dtype[Any]
    scale: float
    offset: float
    lowest: float | None = None
    highest: float | None = None


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
        """How many samples of each channel."""
        return len(self.columns[0])

    @property
    def end_index(self) -> int:
        """One past the last index."""
        return self.first_index + self.rows


@dataclass(frozen=True, slots=True)
class Gap:
    """Indices from `from_index` up to and without `to_index` that have no row, and why."""

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
