# SPDX-License-Identifier: GPL-2.0-or-later
"""Savings of groups of participants (section A.5.6), and whether they differ. This is exploratory.

A group's saving is the mean over applications and HAPPE conditions of 1 - ratio of the group's mean powers, as in the
paper. Welch's analysis of variance compares the participants' own savings between groups, without assuming equal
variances (Welch, Biometrika 38, 1951). Holm's method corrects the p-values of all questions as one family (Scandinavian
Journal of Statistics 6, 1979), so that more questions do not find more by chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from happe_study.results.analysis import intervals
from happe_study.results.analysis.intervals import Estimate, Unseen
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.savings import improvement
from happe_study.results.analysis.tidy import Floats, Panel

FEWEST_IN_GROUP = 2
SOME_SAVE_NOTHING = Unseen(lowest=0.0)


@dataclass(frozen=True)
class Group:
    """Participants with the same answer. `paper`: the saving as in the paper; `estimate`: the mean own saving."""

    answer: str
    participants: int
    paper: float
    estimate: Estimate | None  # None: too few for an interval


@dataclass(frozen=True)
class Question:
    """The groups that a question makes. `f` and `p` are Welch's; `holm` is p corrected for all questions."""

    key: str
    groups: tuple[Group, ...]
    f: float
    dof: tuple[float, float]
    p: float
    left_out: tuple[str, ...]  # answers of fewer than two participants
    holm: float = float("nan")


def own_savings(panel: Panel, conditions: Sequence[str], reference: str) -> Floats:
    """Each participant's mean saving over applications and conditions; NaN for a participant without a pair."""
    pairs = _savings(panel, conditions, reference)
    there = ~np.isnan(pairs)
    with np.errstate(invalid="ignore"):
        means: Floats = np.nansum(pairs, axis=1) / there.sum(axis=1)
    return means


def _savings(panel: Panel, conditions: Sequence[str], reference: str) -> Floats:
    """The savings of all pairs: participants x (conditions and applications), NaN for a missing pair."""
    base = panel.of(reference)
    return np.concatenate([1 - panel.of(condition) / base for condition in conditions], axis=1)


def of_question(
    panel: Panel, conditions: Sequence[str], reference: str, key: str, answers: Mapping[str, str]
) -> Question:
    """Compare the groups of a question. `answers`: by participant. Refusal unless two groups have two people each."""
    own = own_savings(panel, conditions, reference)
    who = {
        answer: np.array([answers.get(code) == answer for code in panel.participants]) & ~np.isnan(own)
        for answer in sorted(set(answers.values()))
    }
    kept = {answer: mask for answer, mask in who.items() if mask.sum() >= FEWEST_IN_GROUP}
    if len(kept) <= 1:
        raise Refusal("fewer than two groups of at least two participants")
    made = tuple(_group(panel.of_people(mask), conditions, reference, answer) for answer, mask in kept.items())
    f, dof, p = welch([own[mask] for mask in kept.values()])
    return Question(key, made, f, dof, p, tuple(answer for answer in who if answer not in kept))


def _group(panel: Panel, conditions: Sequence[str], reference: str, answer: str) -> Group:
    pairs = [panel.pairs(condition, reference) for condition in conditions]
    ratios = [
        improvement(*(side[:, [n]] for side in pair))
        for pair in pairs
        for n in range(len(panel.applications))
        if not np.isnan(pair[0][:, n]).all()
    ]
    try:
        estimate = intervals.of_pairs(_savings(panel, conditions, reference), SOME_SAVE_NOTHING)
    except Refusal:
        estimate = None
    return Group(answer, len(panel.participants), float(np.mean(ratios)), estimate)


def welch(samples: Sequence[Floats]) -> tuple[float, tuple[float, float], float]:
    """Welch's F, its degrees of freedom and p. Raises Refusal if a group has no scatter."""
    sizes = np.array([len(each) for each in samples], dtype=float)
    variances = np.array([each.var(ddof=1) for each in samples])
    if not (variances > 0).all():
        raise Refusal("all participants of a group save the same, so there is no scatter to compare with")
    weights = sizes / variances
    means = np.array([each.mean() for each in samples])
    k, total = len(samples), weights.sum()
    middle = (weights * means).sum() / total
    spread = ((1 - weights / total) ** 2 / (sizes - 1)).sum()
    f = (weights * (means - middle) ** 2).sum() / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * spread)
    dof = (float(k - 1), float((k**2 - 1) / (3 * spread)))
    return float(f), dof, float(stats.f.sf(f, *dof))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's corrected p-values, in the order given."""
    order = np.argsort(p)
    scaled = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    corrected = np.minimum(np.maximum.accumulate(scaled), 1)
    return [float(value) for _, value in sorted(zip(order, corrected, strict=True))]
