# SPDX-License-Identifier: GPL-2.0-or-later
"""The paired win probability: how likely a person rates the treatment above the reference, ties counted half.

A participant's score is the mean over applications of 1 (rated higher), 1/2 (alike) or 0 (lower). The mean score
estimates P(higher) + P(alike) / 2; 0.5 is no preference. `intervals` computes the limits, cut to 0..1; its
unseen tenth of people may prefer one condition in all applications. The test is two-sided and flips signs: under H0, a
score is as likely to lie equally far on the other side of 0.5. It uses all flips for up to 16 participants that lean to
a side; for more it draws 20,000 flips and counts the observed one too (Phipson and Smyth, Statistical Applications in
Genetics 9, 2010). It uses only the order of two ratings by one person of one application.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from happe_study.results.analysis.intervals import Estimate, Unseen, of_pairs, worst_and_best

if TYPE_CHECKING:
    from happe_study.results.analysis.tidy import Floats, Panel

MOST_EXACT = 16
FLIPS = 20_000
SEED = 20100916
EITHER = Unseen(0.0, 1.0)
ALIKE = 1e-12


@dataclass(frozen=True)
class Wins:
    """Pairs of runs by which was rated higher, and the win probability with its interval and two-sided p."""

    treatment: str
    reference: str
    higher: int
    alike: int
    lower: int
    missing: int
    estimate: Estimate
    p: float


def wins(panel: Panel, treatment: str, reference: str) -> Wins:
    """The win probability of a panel of ratings. Raises Refusal for too few participants."""
    treated, base = panel.pairs(treatment, reference)
    signs = np.sign(treated - base)
    found = of_pairs((signs + 1) / 2, EITHER)
    higher, alike, lower = (int((signs == sign).sum()) for sign in (1, 0, -1))
    return Wins(treatment, reference, higher, alike, lower, int(np.isnan(signs).sum()), _cut(found), _p(signs))


def _p(signs: Floats) -> float:
    """The largest p over all values of the missing pairs; 1 if these can change the sign of the mean."""
    lowest, highest = (each.mean(axis=1) for each in worst_and_best(signs))
    if lowest.mean() * highest.mean() < 0:
        return 1.0
    return max(flip_p(lowest), flip_p(highest))


def _cut(found: Estimate) -> Estimate:
    return replace(found, low=max(0.0, found.low), high=min(1.0, found.high))


def flip_p(leanings: Floats) -> float:
    """The two-sided p-value of the hypothesis that the mean is 0, by flips of signs."""
    leaning = leanings[np.abs(leanings) > ALIKE]
    n = len(leaning)
    if n == 0:
        return 1.0
    if n <= MOST_EXACT:
        flips = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float((np.abs(flips @ leaning) >= abs(leaning.sum()) - ALIKE).mean())
    flips = np.random.default_rng(SEED).choice([-1.0, 1.0], size=(FLIPS, n))
    extreme = int((np.abs(flips @ leaning) >= abs(leaning.sum()) - ALIKE).sum())
    return (extreme + 1) / (FLIPS + 1)
