# SPDX-License-Identifier: GPL-2.0-or-later
"""The conditions of a run, and for each scheme of a protocol the orders in which an application has the conditions."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from happe_contract import conditions as names
from happe_study.study.protocol.designs import williams

MOST_LEVELS = 64
FEWEST_LEVELS = 2

_GOVERNOR = re.compile("|".join((*names.NAMED, names.FIXED + "([1-9]|[1-5][0-9]|6[0-4])")))


class Scheme(StrEnum):
    """The treatments to compare, and their order (`order.scheme`)."""

    PAPER = "paper"
    LEVELS = "levels"
    CROSSOVER = "crossover"
    EXTENDED = "extended"


class Phase(StrEnum):
    """Whether a run teaches a profile (T-HAPPE) or not."""

    TRAINING = "training"
    MAIN = "main"


class Keys(StrEnum):
    """Whether the two keys have an effect."""

    ACT = "act"
    SHAM = "sham"


@dataclass(frozen=True, order=True)
class Condition:
    """What controls the processor, and whether the battery indicator is visible. B-HAPPE always shows it."""

    governor: str  # ondemand, T-, O-, B- or L-HAPPE, or fixed-N with N from 1 (the lowest frequency) to 64
    indicator: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError for a condition that no device knows."""
        if not _GOVERNOR.fullmatch(self.governor):
            raise ValueError(f"{self.governor!r} is not a condition")
        if self.governor == names.B_HAPPE and not self.indicator:
            raise ValueError("B-HAPPE has the indicator")

    @property
    def label(self) -> str:
        """Its name in exports: the governor's, plus `+indicator` if the indicator is visible (B-HAPPE implies it)."""
        shown = self.indicator and self.governor != names.B_HAPPE
        return self.governor + (names.WITH_INDICATOR if shown else "")

    @classmethod
    def of_label(cls, label: str) -> Self:
        """The condition of a label. Raises ValueError for an unknown label."""
        governor = label.removesuffix(names.WITH_INDICATOR)
        condition = cls(governor, indicator=governor != label or governor == names.B_HAPPE)
        if condition.label != label:
            raise ValueError(f"{label!r} is not a condition")
        return condition

    @property
    def extended(self) -> bool:
        """Whether HAPPE runs in mode `extended`, in which it tries lower frequencies by itself."""
        return self.governor == names.L_HAPPE

    @property
    def phase(self) -> Phase:
        """T-HAPPE is the training phase (section A.5.1.3)."""
        return Phase.TRAINING if self.governor == names.T_HAPPE else Phase.MAIN

    @property
    def keys(self) -> Keys:
        """Only HAPPE's conditions act on the keys."""
        return Keys.ACT if names.is_happe(self.governor) else Keys.SHAM


ONDEMAND = Condition(names.ONDEMAND)
ONDEMAND_INDICATOR = Condition(names.ONDEMAND, indicator=True)
T_HAPPE = Condition(names.T_HAPPE)
O_HAPPE = Condition(names.O_HAPPE)
B_HAPPE = Condition(names.B_HAPPE, indicator=True)
L_HAPPE = Condition(names.L_HAPPE)

_PAPER = (ONDEMAND, T_HAPPE, O_HAPPE, B_HAPPE)
_CROSSOVER = (ONDEMAND, ONDEMAND_INDICATOR, O_HAPPE, B_HAPPE)
_EXTENDED = (O_HAPPE, L_HAPPE)


def conditions(scheme: Scheme, levels: int | None = None) -> tuple[Condition, ...]:
    """Every condition of a scheme, once. `levels` is the number of fixed frequencies, of the scheme `levels` only."""
    match scheme:
        case Scheme.PAPER:
            return _PAPER
        case Scheme.CROSSOVER:
            return (T_HAPPE, *_CROSSOVER)
        case Scheme.EXTENDED:
            return (T_HAPPE, *_EXTENDED)
        case Scheme.LEVELS:
            return tuple(Condition(f"{names.FIXED}{level}") for level in range(1, _checked(levels) + 1))


def sequences(scheme: Scheme, levels: int | None = None) -> tuple[tuple[Condition, ...], ...]:
    """The orders in which an application has the conditions. Each order has each condition once.

    paper: the paper's single order. levels: a Williams design. crossover and extended: T-HAPPE, then a
    Williams design of the other conditions.
    """
    every = conditions(scheme, levels)
    match scheme:
        case Scheme.PAPER:
            return (every,)
        case Scheme.LEVELS:
            return tuple(tuple(every[treatment] for treatment in row) for row in williams(len(every)))
        case Scheme.CROSSOVER | Scheme.EXTENDED:
            main = every[1:]
            return tuple((T_HAPPE, *(main[treatment] for treatment in row)) for row in williams(len(main)))


def _checked(levels: int | None) -> int:
    if levels is None or not FEWEST_LEVELS <= levels <= MOST_LEVELS:
        raise ValueError(f"{levels} levels: must be {FEWEST_LEVELS} to {MOST_LEVELS}")
    return levels
