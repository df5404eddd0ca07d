# SPDX-License-Identifier: GPL-2.0-or-later
"""The reasons for which no figure is given, and the limits of a figure."""

from dataclasses import dataclass
from enum import StrEnum


class Why(StrEnum):
    """The kinds of refusals."""

    EMPTY = "empty"  # the interval ends before it begins
    NO_SAMPLES = "no-samples"  # the interval has no samples
    COVERAGE = "coverage"  # too many samples of the interval are missing
    NO_CLOCK = "no-clock"  # no estimate of the server's clock exists
    CLOCK = "clock"  # the cuts are not known well enough
    CLOCK_SET = "clock-set"  # two estimates contradict each other
    NO_SHUNT = "no-shunt"  # no measured resistance; a part number gives none
    NO_SUPPLY = "no-supply"  # no supply voltage, neither measured nor stated
    NO_CHANNEL = "no-channel"  # nothing that gives watts
    OVERLAP = "overlap"  # two intervals to compare share samples
    ALIASING = "aliasing"  # a load that switches in time with the samples would not be seen
    NO_POWER = "no-power"  # the mean power, or the base of a ratio, is no machine's


@dataclass(frozen=True)
class Refusal:
    """A figure is refused for this reason; `detail` says what is missing and what to do."""

    why: Why
    detail: str


@dataclass(frozen=True)
class Limits:
    """The limits that a figure must keep.

    `coverage`: the least share of the interval that has samples. At 0.99, a run of two minutes may lack 1.2 s.
    `clock_us`: the largest error of a cut, as a bound: 100 ms are 0.02 W of a two-minute mean at a step of 25 W.
    `clock_share`: the same bound as a share of the interval, for short intervals.
    """

    coverage: float = 0.99
    clock_us: float = 100_000.0
    clock_share: float = 0.01
