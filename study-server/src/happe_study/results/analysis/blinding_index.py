# SPDX-License-Identifier: GPL-2.0-or-later
"""Blinding indices of James and of Bang, from the participants' guesses. They say whether the study was blind.

Sources: James et al., Statistics in Medicine 15 (1996); Bang, Ni and Davis, Controlled Clinical Trials 25 (2004).
James: 1 if all say "don't know", 0.5 at random guessing, 0 if all guess right. Right guesses have the weight 0, wrong
ones 0.5, "don't know" 1. Blinding is lacking if the upper limit is below 0.5. Bang, for each arm: (right -
wrong) / all; 0 at random guessing, 1 if all guess right, -1 if all guess the other arm.

The published standard errors assume independent guesses, but here each person guesses many times. So the intervals are
Student's t with the jackknife's error, which leaves out one participant at a time (Efron and Tibshirani, An
Introduction to the Bootstrap, 1993, chapter 11), cut to the range of the index. Results also have the published errors.
A few people may be alike by chance, so the error is the larger one of the jackknife's and the published one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from happe_study.results.analysis import intervals
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Floats

JAMES_WEIGHTS = np.array([[0.0, 0.5], [0.5, 0.0]])  # guess x arm
DONT_KNOW = 2


@dataclass(frozen=True)
class Index:
    """An index, its 95 % interval by participants, and the published standard error (independent guesses).

    `guesses` and `participants` are the numbers that it uses; Bang's index uses only its own arm.
    """

    name: str
    value: float
    low: float
    high: float
    published_error: float
    guesses: int
    participants: int


@dataclass(frozen=True)
class Guess:
    """A participant's guess about a run (0 or 1 for an arm, 2 for "don't know"), and the run's arm (0 or 1)."""

    participant: str
    arm: int
    guess: int


def indices(guesses: Sequence[Guess], arms: tuple[str, str]) -> list[Index]:
    """James's index, and Bang's of both arms. Raises Refusal if an arm has no guess, or for too few participants."""
    people = sorted({guess.participant for guess in guesses})
    intervals.require(len(people))
    tables = np.zeros((len(people), 3, 2))
    for each in guesses:
        tables[people.index(each.participant), each.guess, each.arm] += 1
    whole = tables.sum(axis=0)
    if not whole.sum(axis=0).all():
        raise Refusal(f"no participant guessed about runs of {arms[int(whole.sum(axis=0)[0] > 0)]}")
    if not whole[:DONT_KNOW].any():
        raise Refusal("all participants said that they don't know, so no interval can be computed")
    wanted: list[tuple[str, Callable[[Floats], Floats], float, float, Floats]] = [
        ("James", james, 0.0, james_error(whole), tables),
        *(
            (f"Bang, {name}", partial(bang, arm=arm), -1.0, bang_error(whole, arm), tables[..., arm])
            for arm, name in enumerate(arms)
        ),
    ]
    return [
        Index(name, float(index(whole)), *_limits(index, tables, least, error), error, int(used.sum()), _people(used))
        for name, index, least, error, used in wanted
    ]


def _people(tables: Floats) -> int:
    """The number of participants (first axis) with a guess."""
    return int(tables.reshape(len(tables), -1).any(axis=1).sum())


def _limits(index: Callable[[Floats], Floats], tables: Floats, least: float, published: float) -> tuple[float, float]:
    """The jackknife's interval. `tables` has counts: participants x guess x arm."""
    n, whole = len(tables), tables.sum(axis=0)
    without = index(whole - tables)
    if not np.isfinite(without).all():
        raise Refusal("too few participants guessed in both arms for an interval")
    error = max(float(np.sqrt((n - 1) * without.var())), published)
    low, high = intervals.student(float(index(whole)), error, n - 1)
    return max(least, low), min(1.0, high)


def james(table: Floats) -> Floats:
    """James's index of tables guess x arm (the last two axes): rows are arm 0, arm 1, "don't know".

    (1 + P(dk) + (1 - P(dk)) K) / 2 with K = (P_o - P_e) / P_e, where P_o is the mean weight of those who guess, and
    P_e the mean weight if guesses did not depend on arms.
    """
    p = table / table.sum(axis=(-2, -1), keepdims=True)
    unknown = p[..., DONT_KNOW, :].sum(axis=-1)
    guessed = p[..., :DONT_KNOW, :]
    rows, columns = guessed.sum(axis=-1), guessed.sum(axis=-2)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (JAMES_WEIGHTS * guessed).sum(axis=(-2, -1)) / (1 - unknown)
        expected = (JAMES_WEIGHTS * rows[..., :, None] * columns[..., None, :]).sum(axis=(-2, -1)) / (1 - unknown) ** 2
        index = (1 + unknown + (1 - unknown) * (observed - expected) / expected) / 2
    return np.where(unknown == 1, 1.0, index)


def bang(table: Floats, arm: int) -> Floats:
    """Bang's index of an arm: (right - wrong) / all."""
    counts = table[..., arm]
    with np.errstate(invalid="ignore"):
        index: Floats = (counts[..., arm] - counts[..., 1 - arm]) / counts.sum(axis=-1)
    return index


def bang_error(table: Floats, arm: int) -> float:
    """The standard error of independent guesses: of a difference of two shares of one multinomial."""
    n = float(table[:, arm].sum())
    right, wrong = table[arm, arm] / n, table[1 - arm, arm] / n
    return float(np.sqrt((right + wrong - (right - wrong) ** 2) / n))


def james_error(table: Floats, step: float = 1e-6) -> float:
    """The standard error of independent guesses: the delta method on the six shares of one multinomial."""
    n = table.sum()
    p = table / n
    moves = step * np.eye(p.size).reshape(p.size, *p.shape)
    slopes = (james(p + moves) - james(np.maximum(p - moves, 0))) / (2 * step)
    share = p.ravel()
    usable = share > 0
    mean = (share * slopes)[usable].sum()
    return float(np.sqrt((share * (slopes - mean) ** 2)[usable].sum() / n))
