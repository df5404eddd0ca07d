# SPDX-License-Identifier: GPL-2.0-or-later
"""Worlds from which tests draw studies, with a known truth. They have the difficulties of real studies, but no files.

A study compares one treatment with a reference, four applications each. Arrays are participants x applications.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from happe_study.results.analysis import blinding_index, planning
from happe_study.results.analysis.tidy import Run, Runs

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], "Pair"]


APPLICATIONS = ("torcs", "quake3", "glest", "trackballs")
WATTS = np.array([39.46, 38.5, 37.7, 36.9])
SAVED = np.log(0.75)
MARGIN = 0.25
TENTH = 0.1
MANY = 400_000  # people who give a truth that has no formula


class Pair(NamedTuple):
    """A study's figures under the treatment and under the reference."""

    treated: Floats
    base: Floats


@dataclass(frozen=True)
class World:
    """A function that draws a study, and the true mean figure: a log ratio of power, or a difference of ratings."""

    draw: Draw
    truth: float


# --- power


def _power(generator: np.random.Generator, people: int, *, shared: float, saved: Floats) -> Pair:
    """Lognormal power from each person's own level, each person's saving, and 5 % of chance in each run."""
    level = np.log(WATTS) + generator.normal(0, shared, (people, 1))
    base, treated = (level + generator.normal(0, 0.05, (people, 4)) for _ in range(2))
    return Pair(np.exp(treated + saved), np.exp(base))


def shared(generator: np.random.Generator, people: int) -> Pair:
    """People differ much in power (30 %), and by 6 points in their savings."""
    return _power(generator, people, shared=0.3, saved=SAVED + generator.normal(0, 0.06, (people, 1)))


def few_save(generator: np.random.Generator, people: int) -> Pair:
    """A tenth of the people save 3 %, the others about 25 %."""
    many = SAVED + generator.normal(0, 0.06, (people, 1))
    few = np.log(0.97) + generator.normal(0, 0.02, (people, 1))
    return _power(generator, people, shared=0.1, saved=np.where(generator.random((people, 1)) < TENTH, few, many))


def highest_missing(generator: np.random.Generator, people: int) -> Pair:
    """The highest tenth of the readings is missing."""
    whole = _power(generator, people, shared=0.1, saved=SAVED + generator.normal(0, 0.06, (people, 1)))
    most = np.quantile(np.stack(whole), 0.9)
    return Pair(*(np.where(side > most, np.nan, side) for side in whole))


POWER = {
    "power shared by person": World(shared, SAVED),
    "a tenth saves little": World(few_save, 0.9 * SAVED + 0.1 * np.log(0.97)),
    "highest readings missing": World(highest_missing, SAVED),
}


# --- ratings


@cache
def assumed(difference: float, liking: float = 0.05) -> planning.Assumptions:
    """The paper's ratings, shifted to this true mean difference."""
    return planning.shift_for(planning.Assumptions(liking=liking), difference)


def at_the_margin(generator: np.random.Generator, people: int) -> Pair:
    """Everybody is less satisfied by the margin."""
    return Pair(*planning.rated(assumed(-MARGIN), people, generator))


@cache
def _harsh() -> float:
    """How often a dislike is 2 points rather than 3, so that a tenth of dislikers lowers the mean by the margin."""

    def mean(points: int) -> float:
        generator = np.random.default_rng(1)
        treated, base = planning.rated(assumed(0.0), MANY // 4, generator)
        return float((np.maximum(1, treated - points) - base).mean())

    wanted = -MARGIN / TENTH
    return (wanted - mean(3)) / (mean(2) - mean(3))


def few_dislike(generator: np.random.Generator, people: int) -> Pair:
    """A tenth of the people rate the treatment 2 or 3 points lower, the others like the reference."""
    treated, base = planning.rated(assumed(0.0), people, generator)
    points = np.where(generator.random(treated.shape) < _harsh(), 2, 3)
    dislike = generator.random((people, 1)) < TENTH
    return Pair(np.where(dislike, np.maximum(1, treated - points), treated), base)


def low_missing(generator: np.random.Generator, people: int) -> Pair:
    """At the margin, but low treated ratings are missing."""
    return _without_low(generator, at_the_margin(generator, people))


def _without_low(generator: np.random.Generator, pair: Pair) -> Pair:
    """Without six in ten treated runs with a rating of at most 3."""
    gone = (pair.treated <= 3) & (generator.random(pair.treated.shape) < 0.6)  # noqa: PLR2004 - points of the scale
    return Pair(np.where(gone, np.nan, pair.treated), pair.base)


CUTS = np.array([-4.0, -2.5, -0.8, 1.2])


def _logits(generator: np.random.Generator, people: int, liking: float) -> Pair:
    """Proportional odds: people's own level (1 logit) and their own liking of the treatment, whose mean is 0."""
    level = generator.normal(0, 1, (people, 1))
    own = generator.normal(0, liking, (people, 1))
    sides = [level + moved + generator.logistic(size=(people, 4)) for moved in (own, 0.0 * own)]
    treated, base = (np.searchsorted(CUTS, side).astype(np.float64) + 1 for side in sides)
    return Pair(treated, base)


def liked_alike(generator: np.random.Generator, people: int) -> Pair:
    """The treatment changes nothing for anybody."""
    return _logits(generator, people, 0.0)


def liked_differently(generator: np.random.Generator, people: int) -> Pair:
    """Liking differs between people by 1 logit, with mean 0."""
    return _logits(generator, people, 1.0)


def low_missing_alike(generator: np.random.Generator, people: int) -> Pair:
    """The treatment changes nothing, but low treated ratings are missing."""
    return _without_low(generator, liked_alike(generator, people))


RATINGS = {
    "everybody at the margin": World(at_the_margin, -MARGIN),
    "a tenth dislikes strongly": World(few_dislike, -MARGIN),
    "low treated ratings missing": World(low_missing, -MARGIN),
}
NO_DIFFERENCE = {
    "liked alike": World(liked_alike, 0.0),
    "liking differs by 1 logit": World(liked_differently, 0.0),
    "low treated ratings missing, liked alike": World(low_missing_alike, 0.0),
}


COMPLETE: dict[Draw, Draw] = {
    low_missing: at_the_margin,
    low_missing_alike: liked_alike,
    highest_missing: shared,  # they differ in people's levels, which do not affect a ratio
}


@cache
def complete(world: World) -> Pair:
    """Very many people of a world, without missing figures."""
    return COMPLETE.get(world.draw, world.draw)(np.random.default_rng(2), MANY // 4)


@cache
def mean_saving(world: World) -> float:
    """The true mean of 1 - ratio of powers in complete data."""
    treated, base = complete(world)
    return float((1 - treated / base).mean())


@cache
def difference_in(world: World, application: int) -> float:
    """The true mean difference of ratings in an application in complete data."""
    treated, base = complete(world)
    return float((treated - base)[:, application].mean())


# --- guesses


@dataclass(frozen=True)
class Guessers:
    """Guesses of people with four runs under each arm. People differ in how often they are right (beta).

    One guess in five is "don't know".
    """

    right: float
    wrong: float

    def draw(self, generator: np.random.Generator, people: int) -> Floats:
        """Participants x guesses x (arm, guess)."""
        right = generator.beta(self.right, self.wrong, (people, 1))
        arms = np.tile([0, 0, 0, 0, 1, 1, 1, 1], (people, 1))
        known = generator.random((people, 8)) < right
        unsure = generator.random((people, 8)) < 0.2  # noqa: PLR2004 - say that they don't know
        return np.stack([arms, np.where(unsure, 2, np.where(known, arms, 1 - arms))], axis=2)

    @property
    def bang(self) -> float:
        """Bang's true index of each arm."""
        return 0.8 * (self.right - self.wrong) / (self.right + self.wrong)


GUESSES = {"guesses": Guessers(1.2, 1.2), "guesses, mostly right": Guessers(9, 1)}


@cache
def james_index(guessers: Guessers) -> float:
    """James's true index."""
    arm, guess = guessers.draw(np.random.default_rng(2), MANY // 4).reshape(-1, 2).T.astype(int)
    return float(blinding_index.james(np.histogram2d(guess, arm, (3, 2))[0]))


# --- as the models read them


CROSSED = ("ondemand", "O-HAPPE", "B-HAPPE")
SEQUENCES = np.array(list(permutations(range(len(CROSSED)))))


def crossover(generator: np.random.Generator, people: int, figure: str) -> Runs:
    """Three conditions in a balanced order. No condition, place or condition before changes anybody's mean.

    `figure` is "rating" (people's liking of each treatment differs by 1 logit) or "mean_w" (their savings by each
    treatment differ by 6 points).
    """
    level = generator.normal(0, 1, (people, 1, 1))
    own = generator.normal(0, 1, (people, 1, len(CROSSED))) * [0, 1, 1]
    shape = (people, len(APPLICATIONS), len(CROSSED))
    if figure == "rating":
        values: Floats = np.searchsorted(CUTS, level + own + generator.logistic(size=shape)).astype(np.float64) + 1
    else:
        values = np.exp(np.log(WATTS)[:, None] + 0.3 * level + 0.06 * own + generator.normal(0, 0.05, shape))
    taken = [generator.permutation(np.resize(np.arange(len(SEQUENCES)), people)) for _ in APPLICATIONS]
    return _runs(values, CROSSED, SEQUENCES[np.stack(taken, axis=1)], figure)


def runs_of(pair: Pair, figure: str) -> Runs:
    """Runs with a figure. A run whose figure is missing has None."""
    sides = np.stack([pair.base, pair.treated], axis=2)
    return _runs(sides, CROSSED[:2], np.broadcast_to(np.arange(2), sides.shape), figure)


def _runs(values: Floats, conditions: Sequence[str], orders: NDArray[np.int64], figure: str) -> Runs:
    """Runs of participants x applications x conditions. `orders` has the conditions by place."""
    rows: list[Run] = []
    for person, number, place in np.ndindex(*orders.shape):
        order, condition = orders[person, number].tolist(), int(orders[person, number, place])
        value = values[person, number, condition]
        given: Any = {} if np.isnan(value) else {figure: float(value) if figure == "mean_w" else int(value)}
        rows.append(
            Run(
                run=f"R{len(rows)}",
                participant=f"P{person:03}",
                application=APPLICATIONS[number],
                condition=conditions[condition],
                position=len(rows) + 1,
                place=place + 1,
                before=conditions[order[place - 1]] if place else "",
                seconds=120,
                **given,
            )
        )
    return Runs(tuple(rows))
