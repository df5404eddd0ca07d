# SPDX-License-Identifier: GPL-2.0-or-later
"""Why no figure is given, and when."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Why(StrEnum):
    """The kinds of refusals."""

    EMPTY = "empty"  # the interval ends before it begins
    NO_SAMPLES = "no-samples"  # nothing was recorded in it
    COVERAGE = "coverage"  # too much of it is missing
    NO_CLOCK = "no-clock"  # nothing tells the server's time
    CLOCK = "clock"  # the cuts are not known well enough
    CLOCK_SET = "clock-set"  # two estimates contradict each other
    NO_SHUNT = "no-shunt"  # no measured resistance; a part number gives none
    NO_SUPPLY = "no-supply"  # no supply voltage, neither measured nor stated
    NO_CHANNEL = "no-channel"  # nothing that gives watts
    OVERLAP = "overlap"  # two intervals to compare share samples
    ALIASING = "aliasing"  # a load that switches in time with the samples would not be seen
    NO_POWER = "no-power"  # a mean power, or what a ratio is to, that is no machine's


@dataclass(frozen=True)
class Refusal:
    """No figure, for this reason; `detail` says what is lacking and what to do."""

    why: Why
    detail: str


@dataclass(frozen=True)
class Limits:
    """What a figure needs.

    `coverage`: the least share of the interval that has samples. At 0.99 a run of two minutes may lack 1.2 s.
    `clock_us`: how far off a cut may be at most, as a bound: 100 ms are 0.02 W of a two-minute mean at a step of 25 W.
    `clock_share`: the same as a share of the interval, for short ones.
    """

    coverage: float = 0.99
    clock_us: float = 100_000.0
    clock_share: float = 0.01
