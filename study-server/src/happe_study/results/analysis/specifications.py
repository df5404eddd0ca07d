# SPDX-License-Identifier: GPL-2.0-or-later
"""The specification curve: the same answer under every choice that an analyst could have made.

Simonsohn, Simmons and Nelson, Nature Human Behaviour 4, 2020. The code fixes the choices before anybody sees the data:
the conditions that stand for HAPPE, the scale of savings, whether far runs count, and which pairs count. The limits are
computed as in the section with the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from happe_study.results.analysis import intervals
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.savings import typical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from happe_study.results.analysis.tidy import Floats, Panel

LOG, RATIO = "log ratio", "ratio"
EVERY_RUN, NOT_FAR = "every run", "without far runs"
ALL_PAIRS, COMPLETE = "all pairs", "per protocol"
SOME_SAVE_NOTHING = intervals.Unseen(lowest=0.0)


@dataclass(frozen=True)
class Specification:
    """One set of choices, and its answer with 95 % limits."""

    choices: tuple[str, ...]
    value: float
    low: float
    high: float


def of_savings(
    power: Panel, kept: Panel, conditions: Mapping[str, Sequence[str]], reference: str
) -> Iterator[Specification]:
    """Savings as fractions. `kept`: the panel without far runs; `conditions`: the sets standing for HAPPE, by name."""
    runs = {EVERY_RUN: power, NOT_FAR: kept}
    for name, which, pairs, scale in product(conditions, runs, (ALL_PAIRS, COMPLETE), (LOG, RATIO)):
        treated, base = _sides(runs[which], conditions[name], reference)
        treated = _complete(treated, base) if pairs == COMPLETE else treated
        try:
            found = (
                typical(treated, base)[0] if scale == LOG else intervals.of_pairs(1 - treated / base, SOME_SAVE_NOTHING)
            )
        except Refusal:
            continue
        yield Specification((name, scale, which, pairs), found.value, found.low, found.high)


def of_ratings(
    rating: Panel,
    conditions: Mapping[str, Sequence[str]],
    reference: str,
    limits: Callable[[Floats, Floats], tuple[float, float]],
) -> Iterator[Specification]:
    """Differences of ratings in points. `limits` takes the pairs with missing ones at the worst, and at the best."""
    for name, pairs in product(conditions, (ALL_PAIRS, COMPLETE)):
        treated, base = _sides(rating, conditions[name], reference)
        gaps = (_complete(treated, base) if pairs == COMPLETE else treated) - base
        try:
            found = intervals.of_pairs(gaps, intervals.Unseen())
        except Refusal:
            continue
        kept = gaps[~np.isnan(gaps).all(axis=1)]
        yield Specification((name, pairs), found.value, *limits(*intervals.worst_and_best(kept)))


def _sides(panel: Panel, conditions: Sequence[str], reference: str) -> tuple[Floats, Floats]:
    """The pairs of all these conditions with the reference, side by side: two arrays, participants by pairs."""
    sides = [panel.pairs(condition, reference) for condition in conditions]
    return np.concatenate([each[0] for each in sides], axis=1), np.concatenate([each[1] for each in sides], axis=1)


def _complete(treated: Floats, base: Floats) -> Floats:
    """The treated values of participants with every pair; NaN for the others."""
    missing = np.isnan(treated / base).any(axis=1, keepdims=True)
    complete: Floats = np.where(missing, np.nan, treated)
    return complete
