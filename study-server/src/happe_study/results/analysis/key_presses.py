# SPDX-License-Identifier: GPL-2.0-or-later
"""Key presses by a negative-binomial (NB2) regression with the run's length as exposure.

    presses ~ NB(mean mu, variance mu + alpha mu^2),   log mu = log(minutes) + x b

Maximum likelihood (Cameron and Trivedi, Regression Analysis of Count Data, section 3.3). exp(b) is a ratio of rates.
Presses of one person resemble each other, so errors are by participant (`clustered`), with Student's t and one degree
of freedom less than participants. With alpha at 0 it is a Poisson regression, and says so. Intervals hold even where
presses are not negative-binomial, as long as the means are right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import optimize, special, stats

from happe_study.results.analysis import clustered
from happe_study.results.analysis.intervals import FEWEST, student, towards_nothing
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from happe_study.results.analysis.tidy import Floats

SMALLEST_ALPHA = 1e-6  # stands for Poisson's 0
_NO_SCATTER = (float(np.log(SMALLEST_ALPHA)), float(np.log(SMALLEST_ALPHA)))
LEAST_GAIN = 1e-3  # in log likelihood, that alpha must bring to be kept
LARGEST_EFFECT = 12.0  # in log rate: what is larger grows without end
LARGEST_ERROR = 8.0  # in log rate
INTERCEPT = "(intercept)"
STEP = 1e-5  # of the differences that the information is taken from


@dataclass(frozen=True)
class Rate:
    """A coefficient: `estimate` is the logarithm of a ratio of rates (of the intercept: of presses a minute)."""

    name: str
    estimate: float
    error: float
    t: float
    p: float
    low: float
    high: float


@dataclass(frozen=True)
class Fit:
    """A fitted model. `alpha` 0: the counts scatter no more than Poisson's."""

    rates: tuple[Rate, ...]
    alpha: float
    log_likelihood: float
    runs: int
    presses: int
    participants: int


def fit(
    counts: Sequence[int], minutes: Sequence[float], columns: Floats, names: Sequence[str], participants: Sequence[str]
) -> Fit:
    """Fit the model; an intercept is added. Refusal where no finite estimate exists."""
    y, exposure = np.asarray(counts, dtype=float), np.asarray(minutes, dtype=float)
    x = np.column_stack([np.ones(len(y)), np.asarray(columns, dtype=float).reshape(len(y), -1)])
    named = (INTERCEPT, *names)
    people = np.unique(np.asarray(participants), return_inverse=True)[1]
    _require_estimable(y, exposure, x, int(people.max()) + 1)
    start = np.zeros(x.shape[1])
    start[0] = np.log(y.sum() / exposure.sum())
    data = _Data(y, np.log(exposure), x)
    found, poisson = _best(data, start)
    beta, alpha = found[:-1], 0.0 if poisson else float(np.exp(found[-1]))
    _require_finite(beta, named)
    errors, dofs = _errors(data, found, people)
    _require_known(errors, named)
    count = int(people.max()) + 1
    rates = tuple(
        _rate(*each, count) for each in zip(named, beta.tolist(), errors.tolist(), dofs.tolist(), strict=True)
    )
    likelihood = float(data.log_p(found).sum())
    return Fit(rates, alpha, likelihood, len(y), int(y.sum()), count)


def _require_estimable(y: Floats, exposure: Floats, x: Floats, people: int) -> None:
    if people < FEWEST:
        raise Refusal(f"{people} participants; errors by participant need at least {FEWEST}")
    if not (exposure > 0).all():
        raise Refusal("a run has no length")
    if y.sum() == 0:
        raise Refusal("nobody pressed the key")
    if np.linalg.matrix_rank(x) < x.shape[1]:
        raise Refusal("these runs can't separate the terms of the model")


def _require_finite(beta: Floats, names: Sequence[str]) -> None:
    for name, value in zip(names[1:], beta[1:], strict=True):
        if abs(value) > LARGEST_EFFECT:
            raise Refusal(f"nobody pressed the key in one of the groups that {name} compares: the ratio has no bound")


def _require_known(errors: Floats, names: Sequence[str]) -> None:
    for name, error in zip(names, errors, strict=True):
        if not 0 < error <= LARGEST_ERROR:
            raise Refusal(f"the presses do not show how uncertain {name} is")


class _Data(NamedTuple):
    """Presses, the logarithm of minutes, and the design. Free parameters are the effects and log alpha."""

    y: Floats
    offset: Floats
    x: Floats

    def log_p(self, free: Floats) -> Floats:
        """Each run's log likelihood."""
        log_mean, size = self.offset + self.x @ free[:-1], np.exp(-free[-1])
        mean = np.exp(log_mean)
        log_p: Floats = (
            special.gammaln(self.y + size)
            - special.gammaln(size)
            - special.gammaln(self.y + 1)
            - size * np.log1p(mean / size)
            + self.y * (log_mean - np.log(size + mean))
        )
        return log_p

    def scores(self, free: Floats) -> Floats:
        """Each run's derivatives of it by the free parameters."""
        mean, size = np.exp(self.offset + self.x @ free[:-1]), np.exp(-free[-1])
        over = self.y - mean
        by_mean = over * size / (size + mean)
        by_size = special.digamma(self.y + size) - special.digamma(size) - np.log1p(mean / size) - over / (size + mean)
        return np.column_stack([by_mean[:, None] * self.x, -size * by_size])


def _best(data: _Data, start: Floats) -> tuple[Floats, bool]:
    """The negative-binomial maximum, or Poisson's where a scatter of its own gains nothing; and which it is."""
    without = _maximum(data, start, _NO_SCATTER)
    with_it = _maximum(data, without[:-1], (_NO_SCATTER[0], 10.0))
    gain = float((data.log_p(with_it) - data.log_p(without)).sum())
    return (without, True) if gain < LEAST_GAIN else (with_it, False)


def _maximum(data: _Data, start: Floats, log_alpha: tuple[float, float]) -> Floats:
    def loss(free: Floats) -> tuple[float, Floats]:
        return -float(data.log_p(free).sum()), -data.scores(free).sum(axis=0)

    found: Floats = optimize.minimize(
        loss,
        np.append(start, min(0.0, log_alpha[1])),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-30.0, 30.0)] * len(start) + [log_alpha],
        options={"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-8},
    ).x
    return found


def _errors(data: _Data, free: Floats, people: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """The effects' standard errors by participant, and their degrees of freedom.

    Alpha is taken as known: NB2's effects do not depend on it.
    """
    moves = STEP * np.eye(len(free))[:-1]
    slopes = [_by_person(data.scores(free + move) - data.scores(free - move), people) for move in moves]
    informations = -np.stack(slopes, axis=1) / (2 * STEP)
    covariance = clustered.jackknifed(_by_person(data.scores(free), people), informations)
    return np.sqrt(np.diag(covariance)), clustered.freedom(informations)


def _by_person(scores: Floats, people: NDArray[np.int64]) -> Floats:
    """The effects' part of the scores, summed for each participant."""
    sums = np.zeros((int(people.max()) + 1, scores.shape[1] - 1))
    np.add.at(sums, people, scores[:, :-1])
    return sums


def _rate(name: str, estimate: float, error: float, dof: float, participants: int) -> Rate:
    t = estimate / error
    p = float(2 * stats.t.sf(abs(t), dof))
    interval = student if name == INTERCEPT else partial(towards_nothing, participants=participants)
    return Rate(name, estimate, error, t, p, *interval(estimate, error, dof))
