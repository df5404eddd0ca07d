# SPDX-License-Identifier: GPL-2.0-or-later
"""A negative-binomial (NB2) regression of key presses, with the run's length as exposure.

    presses ~ NB(mean mu, variance mu + alpha mu^2),   log mu = log(minutes) + x b

Maximum likelihood (Cameron and Trivedi, Regression Analysis of Count Data, section 3.3). exp(b) is a ratio of rates.
With alpha = 0 it is a Poisson regression, and the result says so.

Presses of one person resemble each other, so tests are by participant. To test a value of a coefficient, fit the other
coefficients. Each participant's presses then pull the coefficient up or down by the participant's efficient score
(Boos, Generalized score tests, American Statistician 46, 1992). If the value is right, the mean score is 0, which
Student's one-sample t tests. The interval has the values that this test does not reject. It holds even if presses are
not negative-binomial, as long as the means are right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import optimize, special, stats

from happe_study.results.analysis.intervals import FEWEST, LEVEL, is_nothing, towards_nothing
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from happe_study.results.analysis.tidy import Floats

SMALLEST_ALPHA = 1e-6  # used in place of Poisson's 0
_NO_SCATTER = (float(np.log(SMALLEST_ALPHA)), float(np.log(SMALLEST_ALPHA)))
LEAST_GAIN = 1e-3  # alpha must raise the log likelihood by this, else the model is Poisson's
LARGEST_EFFECT = 12.0  # in log rate; a larger estimate has no bound, and a limit is at most this far from the estimate
LARGEST_ERROR = 8.0  # in log rate
INTERCEPT = "(intercept)"
NEWTON_STEPS = 100
NEWTON_TOLERANCE = 1e-9  # in log rate


@dataclass(frozen=True)
class Rate:
    """A coefficient. `estimate` is the log of a ratio of rates (for the intercept, the log of presses per minute).

    `t` tests that it is 0. `low` or `high` is None if the test rejects no value on that side.
    """

    name: str
    estimate: float
    error: float
    t: float
    p: float
    low: float | None
    high: float | None


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
    """Fit the model with an intercept and these columns (runs x terms). Refusal if there is no finite estimate."""
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
    terms = [_Term.of(data, found, people, at, named[at]) for at in range(len(named))]
    likelihood = float(data.log_p(found).sum())
    return Fit(tuple(map(_rate, terms)), alpha, likelihood, len(y), int(y.sum()), int(people.max()) + 1)


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


class _Data(NamedTuple):
    """Presses, log minutes, and the design matrix. The free parameters are the effects and log alpha."""

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
        """Each run's derivatives of the log likelihood by the free parameters."""
        mean, size = np.exp(self.offset + self.x @ free[:-1]), np.exp(-free[-1])
        over = self.y - mean
        by_mean = over * size / (size + mean)
        by_size = special.digamma(self.y + size) - special.digamma(size) - np.log1p(mean / size) - over / (size + mean)
        return np.column_stack([by_mean[:, None] * self.x, -size * by_size])


def _best(data: _Data, start: Floats) -> tuple[Floats, bool]:
    """The negative-binomial maximum, or Poisson's if alpha gains too little; and whether it is Poisson's."""
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


@dataclass(frozen=True)
class _Term:
    """A coefficient and its column, apart from the others. Alpha stays fixed: NB2's effects do not depend on it."""

    name: str
    estimate: float
    own: Floats
    others: Floats
    beside: Floats  # the estimates of the others
    alpha: float
    data: _Data
    people: NDArray[np.int64]

    @classmethod
    def of(cls, data: _Data, fitted: Floats, people: NDArray[np.int64], at: int, name: str) -> _Term:
        others, beside = np.delete(data.x, at, axis=1), np.delete(fitted[:-1], at)
        return cls(name, float(fitted[at]), data.x[:, at], others, beside, float(np.exp(fitted[-1])), data, people)

    def scores(self, value: float) -> tuple[Floats, float]:
        """Each participant's efficient score if the coefficient has this value, and the information on it."""
        mean = self._means(value)
        scatter = 1 + self.alpha * mean
        weights = mean / scatter
        weighted = weights[:, None] * self.others
        rest = self.own - self.others @ np.linalg.solve(weighted.T @ self.others, weighted.T @ self.own)
        scores = np.bincount(self.people, rest * (self.data.y - mean) / scatter)
        return np.asarray(scores, dtype=float), float(weights @ rest**2)

    def _means(self, value: float) -> Floats:
        """The expected presses if the coefficient has this value and the others fit best, by Newton's method."""
        offset, beta = self.data.offset + value * self.own, self.beside
        for _ in range(NEWTON_STEPS):
            mean = np.exp(offset + self.others @ beta)
            scatter = 1 + self.alpha * mean
            bend = (mean * (1 + self.alpha * self.data.y) / scatter**2)[:, None] * self.others
            step = np.linalg.solve(bend.T @ self.others, self.others.T @ ((self.data.y - mean) / scatter))
            beta = beta + step / np.abs(step).max(initial=1.0)
            if np.abs(step).max(initial=0.0) < NEWTON_TOLERANCE:
                break
        means: Floats = np.exp(offset + self.others @ beta)
        return means

    def t(self, value: float) -> float:
        """Student's t of the scores: above 0 if the presses pull the coefficient above this value."""
        scores = self.scores(value)[0]
        total, spread = float(scores.sum()), _spread(scores)
        if is_nothing(spread, total):
            raise Refusal("all participants press alike, so no interval can be computed")
        return total / spread

    def limits(self, tail: float) -> tuple[float, float]:
        """The limits beyond which the test rejects at this one-sided level; infinite if it rejects nothing there.

        With few people who press very differently, a ratio may have no limit (Fieller, JRSS B 16, 1954).
        """
        participants = int(self.people.max()) + 1
        t = float(stats.t.isf(tail, participants - 1))
        return self._value_at(t), self._value_at(-t)

    def _value_at(self, t: float) -> float:
        """The value with this t, which falls as the value rises; infinite if t stays nearer to 0."""
        farthest = -math.copysign(LARGEST_EFFECT, t)

        def excess(gap: float) -> float:
            return abs(self.t(self.estimate + gap)) - abs(t)

        if excess(farthest) <= 0:
            return math.copysign(math.inf, farthest)
        return self.estimate + float(optimize.brentq(excess, 0.0, farthest))


def _spread(scores: Floats) -> float:
    """The standard error of the sum of the participants' scores."""
    return float(np.sqrt(len(scores) * scores.var(ddof=1)))


def _rate(term: _Term) -> Rate:
    scores, information = term.scores(term.estimate)
    error, participants = _spread(scores) / information, len(scores)
    if not 0 < error <= LARGEST_ERROR:
        raise Refusal(f"the presses do not show how uncertain {term.name} is")
    t = term.t(0.0)
    p = float(2 * stats.t.sf(abs(t), participants - 1))
    tail = (1 - LEVEL) / 2
    limits = term.limits(tail) if term.name == INTERCEPT else towards_nothing(term.limits, participants)
    low, high = (limit if math.isfinite(limit) else None for limit in limits)
    return Rate(term.name, term.estimate, error, t, p, low, high)
