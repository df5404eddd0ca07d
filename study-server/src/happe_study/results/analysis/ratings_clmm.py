# SPDX-License-Identifier: GPL-2.0-or-later
"""A cumulative-link (proportional odds) mixed model of ratings, with a random intercept for each participant.

    logit P(rating of participant i <= j) = theta_j - x b - u_i,   u_i ~ N(0, sigma^2)

Model and signs are those of clmm2 and clmm of R's package ordinal (Christensen, A tutorial on fitting cumulative link
mixed models with clmm2). Maximum likelihood; adaptive Gauss-Hermite quadrature integrates u out, with 41 nodes per
participant, at the mode and with the curvature of the participant's integrand (Liu and Pierce, Biometrika 81, 1994).
Errors of effects are by participant (`clustered`) with Student's t, because people differ in how they like a condition.
Results also have the model's errors, from the observed information. Assumed: a condition moves every threshold alike
(proportional odds). Points of the scale that nobody used have no threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from happe_study.results.analysis import clustered
from happe_study.results.analysis.intervals import FEWEST, student, towards_nothing
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Floats

Ints = NDArray[np.int64]


NODES = 41
NEWTON_STEPS = 100
NEWTON_TOLERANCE = 1e-10
SMALLEST_SIGMA = 1e-3  # a smaller sigma counts as 0
LEAST_GAIN = 1e-6  # a random effect must raise the log likelihood by this, else sigma is 0
LARGEST_EFFECT = 12.0  # log odds; a larger effect has no bound (separation)
LARGEST_ERROR = 8.0  # log odds; with a larger error the likelihood is flat (separation)
STEP = 1e-4  # step of the finite differences for the information


@dataclass(frozen=True)
class Effect:
    """A coefficient: `estimate` is a log odds ratio, above 0 for higher ratings; two-sided p; 95 % interval.

    `error` is by participant; `model_error` is right only if a condition moves everybody alike.
    """

    name: str
    estimate: float
    error: float
    model_error: float
    t: float
    p: float
    low: float
    high: float


@dataclass(frozen=True)
class Threshold:
    """A threshold between two neighbouring points among the used points of the scale."""

    below: int
    above: int
    estimate: float
    error: float


@dataclass(frozen=True)
class Fit:
    """A fitted model. `sigma` is the random intercept's standard deviation on the scale of log odds; may be 0."""

    effects: tuple[Effect, ...]
    thresholds: tuple[Threshold, ...]
    sigma: float
    log_likelihood: float
    parameters: int
    ratings: int
    participants: int
    covariance: Floats = field(repr=False)  # of effects, by participant


@dataclass(frozen=True)
class JointTest:
    """A test that several effects are all 0."""

    f: float
    dof: tuple[int, int]
    p: float


def fit(ratings: Sequence[int], columns: Floats, names: Sequence[str], participants: Sequence[str]) -> Fit:
    """Fit the model. `columns`: ratings x names. Raises Refusal if there is no finite estimate."""
    model = _Model.of(ratings, columns, names, participants)
    start = _maximum(model, model.start(), with_sigma=False)
    best = _maximum(model, np.append(start.x, 0.0), with_sigma=True)
    mixed = np.exp(best.x[-1]) > SMALLEST_SIGMA and start.fun - best.fun > LEAST_GAIN
    return _fit(model, best if mixed else start, with_sigma=mixed)


def test_together(fitted: Fit, names: Sequence[str]) -> JointTest:
    """Test these effects jointly. Raises Refusal for too few participants."""
    at = [n for n, each in enumerate(fitted.effects) if each.name in names]
    estimates = np.array([fitted.effects[n].estimate for n in at])
    f, k, rest, p = clustered.together(estimates, fitted.covariance[np.ix_(at, at)], fitted.participants)
    return JointTest(f, (k, rest), p)


@dataclass(frozen=True)
class _Model:
    """The data, sorted by participant. `at` has the index of each participant's first rating."""

    ratings: Ints  # places among `points`
    columns: Floats
    names: tuple[str, ...]
    points: tuple[int, ...]
    owner: Ints
    at: Ints

    @classmethod
    def of(cls, ratings: Sequence[int], columns: Floats, names: Sequence[str], participants: Sequence[str]) -> "_Model":
        points = tuple(sorted(set(ratings)))
        people = sorted(set(participants))
        if len(points) <= 1:
            raise Refusal("all ratings are equal" if points else "there are no ratings")
        if len(people) < FEWEST:
            raise Refusal(f"{len(people)} participants; errors by participant need at least {FEWEST}")
        owner = np.array([people.index(each) for each in participants])
        order = np.argsort(owner, kind="stable")
        matrix = np.asarray(columns, dtype=float).reshape(len(ratings), len(names))
        _require_full_rank(matrix)
        places = np.array([points.index(rating) for rating in ratings])[order]
        at = np.searchsorted(owner[order], np.arange(len(people)))
        return cls(places, matrix[order], tuple(names), points, owner[order], at)

    @property
    def cuts(self) -> int:
        return len(self.points) - 1

    def start(self) -> Floats:
        """The free parameters at the start: the first threshold, log steps of the others, and effects of 0."""
        below = np.cumsum(np.bincount(self.ratings))[:-1] / len(self.ratings)
        cuts = special.logit(below)
        return np.concatenate([cuts[:1], np.log(np.diff(cuts)), np.zeros(len(self.names))])

    def natural(self, free: Floats) -> Floats:
        """Thresholds, effects (and log sigma) from the free parameters."""
        cuts = free[0] + np.concatenate([[0.0], np.cumsum(np.exp(free[1 : self.cuts]))])
        return np.concatenate([cuts, free[self.cuts :]])

    def jacobian(self, free: Floats) -> Floats:
        """Derivatives of the natural parameters by the free ones."""
        matrix = np.eye(len(free))
        matrix[: self.cuts, 0] = 1
        for k in range(1, self.cuts):
            matrix[:k, k] = 0
            matrix[k : self.cuts, k] = np.exp(free[k])
        return matrix

    def likelihood(self, natural: Floats, *, with_sigma: bool) -> tuple[float, Floats]:
        """The log likelihood and its gradient by the natural parameters, of each participant."""
        cuts = np.concatenate([[-np.inf], natural[: self.cuts], [np.inf]])
        effects = natural[self.cuts : self.cuts + len(self.names)]
        shift = self.columns @ effects
        upper, lower = cuts[self.ratings + 1] - shift, cuts[self.ratings] - shift
        if with_sigma:
            return self._mixed(upper, lower, float(np.exp(natural[-1])))
        log_p, by_upper, by_lower, _ = _logistic(upper, lower)
        return float(log_p.sum()), self._scores(by_upper, by_lower)

    def _mixed(self, upper: Floats, lower: Floats, sigma: float) -> tuple[float, Floats]:
        """The likelihood with u = sigma v, v standard normal. Each participant's nodes are centred at the mode of v."""
        mode, spread = self._modes(upper, lower, sigma)
        x, w = _quadrature(NODES)
        v = mode[:, None] + np.sqrt(2) * spread[:, None] * x
        moved = sigma * v[self.owner]
        log_p, by_upper, by_lower, _ = _logistic(upper[:, None] - moved, lower[:, None] - moved)
        log_terms = (
            np.add.reduceat(log_p, self.at) - v**2 / 2 + np.log(w) + x**2 + np.log(spread / np.sqrt(np.pi))[:, None]
        )
        each = special.logsumexp(log_terms, axis=1)
        share = np.exp(log_terms - each[:, None])  # of each node in the participant's integral
        mean = share[self.owner]
        scores = self._scores((mean * by_upper).sum(axis=1), (mean * by_lower).sum(axis=1))
        by_u = -np.add.reduceat(by_upper + by_lower, self.at)
        by_log_sigma = (share * by_u * sigma * v).sum(axis=1)
        return float(each.sum()), np.column_stack([scores, by_log_sigma])

    def _modes(self, upper: Floats, lower: Floats, sigma: float) -> tuple[Floats, Floats]:
        """The mode of each participant's integrand in v, and its spread there (Newton; it is log-concave)."""
        v = np.zeros(len(self.at))
        for _ in range(NEWTON_STEPS):
            moved = sigma * v[self.owner]
            _, by_upper, by_lower, second = _logistic(upper - moved, lower - moved)
            slope = -sigma * np.add.reduceat(by_upper + by_lower, self.at) - v
            bend = 1 - sigma**2 * np.add.reduceat(second, self.at)
            step = np.clip(slope / bend, -1, 1)
            v = v + step
            if np.abs(step).max() < NEWTON_TOLERANCE:
                break
        return v, 1 / np.sqrt(bend)

    def _scores(self, by_upper: Floats, by_lower: Floats) -> Floats:
        """Each participant's derivatives by thresholds and effects, from those of each rating."""
        cuts = np.zeros((len(self.at), self.cuts + 2))
        np.add.at(cuts, (self.owner, self.ratings + 1), by_upper)
        np.add.at(cuts, (self.owner, self.ratings), by_lower)
        effects = -np.add.reduceat(self.columns * (by_upper + by_lower)[:, None], self.at)
        return np.hstack([cuts[:, 1:-1], effects])


@cache
def _quadrature(nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss and Hermite."""
    return np.polynomial.hermite.hermgauss(nodes)


def _logistic(upper: Floats, lower: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """log(F(upper) - F(lower)), its derivatives by each, and its second derivative by moving both.

    F is logistic. F(a) - F(b) = F(a) F(-b) (1 - exp(b - a)) stays precise if both are near 1.
    """
    gap = -np.expm1(lower - upper)
    log_p = special.log_expit(upper) + special.log_expit(-lower) + np.log(gap)
    ratio = np.exp(lower - upper) / gap
    by_upper = special.expit(-upper) + ratio
    by_lower = -special.expit(lower) - ratio
    second = -special.expit(upper) * special.expit(-upper) - special.expit(lower) * special.expit(-lower)
    return log_p, by_upper, by_lower, second


def _require_full_rank(columns: Floats) -> None:
    with_mean = np.column_stack([np.ones(len(columns)), columns])
    if np.linalg.matrix_rank(with_mean) < with_mean.shape[1]:
        raise Refusal("these runs can't separate the terms of the model")


def _maximum(model: _Model, start: Floats, *, with_sigma: bool) -> optimize.OptimizeResult:
    def loss(free: Floats) -> tuple[float, Floats]:
        value, scores = model.likelihood(model.natural(free), with_sigma=with_sigma)
        return -value, -(model.jacobian(free).T @ scores.sum(axis=0))

    bounds = [(-30.0, 30.0)] * (len(start) - with_sigma) + [(-12.0, 4.0)] * with_sigma
    found = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=_STRICT)
    natural = model.natural(found.x)
    effects = natural[model.cuts : model.cuts + len(model.names)]
    for name, effect in zip(model.names, effects, strict=True):
        if abs(effect) > LARGEST_EFFECT:
            raise Refusal(f"{name} separates the ratings perfectly, so that no finite effect fits best")
    return found


_STRICT = {"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-8}


def _fit(model: _Model, found: optimize.OptimizeResult, *, with_sigma: bool) -> Fit:
    natural = model.natural(found.x)
    informations = _informations(model, natural, with_sigma=with_sigma)
    model_errors = np.sqrt(np.diag(_inverse(informations.sum(axis=0))))
    _require_known(model, model_errors)
    covariance = clustered.jackknifed(model.likelihood(natural, with_sigma=with_sigma)[1], informations)
    errors, people = np.sqrt(np.diag(covariance)), len(model.at)
    shown = slice(model.cuts, model.cuts + len(model.names))
    dofs = clustered.freedom(informations)
    columns = np.column_stack([natural[: len(errors)], errors, model_errors, dofs])[shown].tolist()
    effects = tuple(_effect(name, each, people) for name, each in zip(model.names, columns, strict=True))
    return Fit(
        effects,
        tuple(map(Threshold, model.points, model.points[1:], natural.tolist(), model_errors.tolist())),
        float(np.exp(natural[-1])) if with_sigma else 0.0,
        -float(found.fun),
        len(natural),
        len(model.ratings),
        people,
        covariance[shown, shown],
    )


def _require_known(model: _Model, errors: Floats) -> None:
    for name, error in zip(model.names, errors[model.cuts :], strict=False):
        if not error <= LARGEST_ERROR:
            raise Refusal(f"{name} separates the ratings so well that its effect has no bound")


def _informations(model: _Model, natural: Floats, *, with_sigma: bool) -> Floats:
    """Each participant's observed information, by central differences of the scores."""
    slopes = [
        model.likelihood(natural + step, with_sigma=with_sigma)[1]
        - model.likelihood(natural - step, with_sigma=with_sigma)[1]
        for step in STEP * np.eye(len(natural))
    ]
    return -np.stack(slopes, axis=1) / (2 * STEP)


def _inverse(information: Floats) -> Floats:
    """Invert an information matrix. Raises Refusal if it is not positive definite."""
    information = (information + information.T) / 2
    if not np.isfinite(information).all() or np.linalg.eigvalsh(information).min() <= 0:
        raise Refusal("the likelihood has no proper maximum: too few ratings for this model")
    return np.asarray(np.linalg.inv(information), dtype=float)


def _effect(name: str, found: Sequence[float], participants: int) -> Effect:
    """Make an effect from `found`: estimate, error, the model's error, degrees of freedom."""
    estimate, error, model_error, dof = found
    t = estimate / error
    p = float(2 * stats.t.sf(abs(t), dof))
    limits = partial(student, estimate, error, dof)
    return Effect(name, estimate, error, model_error, t, p, *towards_nothing(limits, participants))
