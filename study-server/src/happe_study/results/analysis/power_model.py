# SPDX-License-Identifier: GPL-2.0-or-later
"""A linear mixed model of the logarithm of power, fitted by restricted maximum likelihood.

    log W = condition + application (+ period + carry-over) + participant + participant:application
            + participant:condition + residual

The last four terms are random, normal and independent. The model needs participant:condition because people differ in
how much they save: without it, runs of one person would count as independent evidence of a condition's effect. exp(b)
is a ratio of geometric means, and 1 - exp(b) a saving. Tests and intervals are Student's t with Satterthwaite's degrees
of freedom (Biometrics Bulletin 2, 1946; as lmerTest computes them: Kuznetsova, Brockhoff and Christensen, J. Stat.
Software 82, 2017). The intervals allow for an unseen tenth on whom a term has no effect (`intervals`). Assumed: one
variance of participant:condition for all conditions. REML: Patterson and Thompson, Biometrika 58, 1971.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from happe_study.results.analysis.intervals import student, towards_nothing
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Floats

SMALLEST = 1e-4  # a smaller ratio of a random part's standard deviation to the residual's counts as 0
STEP = 1e-3  # relative step of the finite differences
STARTS = (0.1, 1.0, 10.0)  # variances
FEWEST_PARTICIPANTS = 3


@dataclass(frozen=True)
class Term:
    """A fixed effect on log W; two-sided p and 95 % interval with Satterthwaite's degrees of freedom."""

    name: str
    estimate: float
    error: float
    dof: float
    t: float
    p: float
    low: float
    high: float


@dataclass(frozen=True)
class Fit:
    """A fitted model. `deviations` are the random parts' standard deviations, the residual's last."""

    terms: tuple[Term, ...]
    deviations: dict[str, float]
    criterion: float  # -2 log restricted likelihood
    runs: int
    participants: int

    def term(self, name: str) -> Term:
        """A term by its name. KeyError if there is none."""
        return {term.name: term for term in self.terms}[name]


def fit(
    values: Sequence[float],
    columns: Floats,
    names: Sequence[str],
    participants: Sequence[str],
    within: Mapping[str, Sequence[str]],
) -> Fit:
    """Fit the model with an intercept. `within`: the random parts within participants by name, with each run's level.

    It leaves out a random part whose levels have one run each, which equals the residual, and a part with the same
    levels as another. Raises Refusal if nothing can be estimated.
    """
    model = _Model.of(np.asarray(values, dtype=float), columns, names, participants, within)
    if not model.parts:
        return _fit(model, np.empty(0), ())
    found = min((_minimum(model, start) for start in STARTS), key=lambda each: float(each.fun))
    ratios = np.sqrt(found.x)
    kept = [n for n, ratio in enumerate(ratios) if ratio > SMALLEST]
    return _fit(model.only(kept), ratios[kept], model.parts)


@dataclass(frozen=True)
class _Solved:
    """V^-1, V^-1 X, (X'V^-1 X)^-1, the fixed effects, V^-1 r, r'V^-1 r, and log |V| + log |X'V^-1 X|."""

    inverse: Floats
    weighted: Floats
    xx_inverse: Floats
    beta: Floats
    pulled: Floats
    rest: float
    log_v: float


@dataclass(frozen=True)
class _Model:
    """The data, participants x runs. Zeros fill up participants with fewer runs, and change nothing.

    `shared` says for each random part, participant and pair of runs whether both runs have the same level of the part.
    """

    y: Floats
    x: Floats
    shared: Floats
    size: int
    names: tuple[str, ...]
    parts: tuple[str, ...]

    @classmethod
    def of(
        cls,
        values: Floats,
        columns: Floats,
        names: Sequence[str],
        participants: Sequence[str],
        within: Mapping[str, Sequence[str]],
    ) -> "_Model":
        people = sorted(set(participants))
        owner = np.array([people.index(each) for each in participants])
        design = np.column_stack([np.ones(len(values)), np.asarray(columns, dtype=float).reshape(len(values), -1)])
        _require_estimable(values, design, len(people))
        same = {"participant": owner[:, None] == owner[None, :]}
        for name, levels in within.items():
            level = np.unique(np.asarray(levels), return_inverse=True)[1]
            same[f"participant:{name}"] = same["participant"] & (level[:, None] == level[None, :])
        parts = _distinct(same)
        rows = [np.flatnonzero(owner == n) for n in range(len(people))]
        longest = max(map(len, rows))
        y, x = np.zeros((len(rows), longest)), np.zeros((len(rows), longest, design.shape[1]))
        shared = np.zeros((len(parts), len(rows), longest, longest))
        for n, r in enumerate(rows):
            y[n, : len(r)], x[n, : len(r)] = values[r], design[r]
            for k, part in enumerate(parts):
                shared[k, n, : len(r), : len(r)] = same[part][np.ix_(r, r)]
        return cls(y, x, shared, len(values), ("(intercept)", *names), tuple(parts))

    def only(self, kept: Sequence[int]) -> "_Model":
        """The model with only the random parts `kept`."""
        return replace(self, shared=self.shared[list(kept)], parts=tuple(self.parts[n] for n in kept))

    @property
    def free(self) -> int:
        return self.size - len(self.names)

    def solved(self, ratios: Floats) -> _Solved:
        """Generalised least squares, with V in units of the residual variance."""
        v = np.eye(self.y.shape[1]) + np.tensordot(ratios**2, self.shared, axes=1)
        inverse = np.asarray(np.linalg.inv(v), dtype=float)
        weighted = inverse @ self.x
        xx = np.einsum("nri,nrj->ij", self.x, weighted)
        beta = np.linalg.solve(xx, np.einsum("nri,nr->i", weighted, self.y))
        rest = self.y - self.x @ beta
        pulled = np.einsum("nrs,ns->nr", inverse, rest)
        log_v = float(np.linalg.slogdet(v)[1].sum()) + float(np.linalg.slogdet(xx)[1])
        return _Solved(
            inverse,
            weighted,
            np.asarray(np.linalg.inv(xx), dtype=float),
            beta,
            pulled,
            float((rest * pulled).sum()),
            log_v,
        )

    def profiled(self, variances: Floats) -> tuple[float, Floats]:
        """-2 log restricted likelihood at the best fixed effects and residual variance, and its gradient.

        The parameters are variances in units of the residual's. With standard deviations, the slope at 0 would be 0, so
        a search would stay there.
        """
        at = self.solved(np.sqrt(variances))
        value = at.log_v + self.free * (1 + np.log(2 * np.pi * at.rest / self.free))
        fixed = at.weighted @ at.xx_inverse @ at.weighted.transpose(0, 2, 1)
        rest = at.pulled[:, :, None] * at.pulled[:, None, :]
        by_variance: Floats = np.tensordot(self.shared, at.inverse - fixed - self.free / at.rest * rest, axes=3)
        return float(value), by_variance

    def criterion(self, parameters: Floats) -> float:
        """-2 log restricted likelihood. `parameters`: the random parts' standard deviations, then the residual's."""
        sigma = parameters[-1]
        at = self.solved(parameters[:-1] / sigma)
        return float(at.log_v + self.free * np.log(2 * np.pi * sigma**2) + at.rest / sigma**2)

    def covariance(self, parameters: Floats) -> Floats:
        """The fixed effects' covariance at these standard deviations."""
        sigma = parameters[-1]
        scaled: Floats = self.solved(parameters[:-1] / sigma).xx_inverse * sigma**2
        return scaled


def _distinct(same: Mapping[str, NDArray[np.bool_]]) -> list[str]:
    """The parts that equal neither the residual nor another part."""
    kept: list[str] = []
    for name, matrix in same.items():
        if (matrix.sum(axis=1) > 1).any() and not any((matrix == same[other]).all() for other in kept):
            kept.append(name)
    return kept


def _require_estimable(values: Floats, design: Floats, people: int) -> None:
    if people < FEWEST_PARTICIPANTS:
        raise Refusal(f"{people} participants; a model of how they differ needs at least {FEWEST_PARTICIPANTS}")
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise Refusal("these runs can't separate the terms of the model")
    if len(values) <= design.shape[1]:
        raise Refusal("as many terms as runs")
    rest = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    if float(rest @ rest) <= 1e-20 * max(1.0, float(values @ values)):
        raise Refusal("the runs do not differ, so the model can't be fitted")


def _minimum(model: _Model, start: float) -> optimize.OptimizeResult:
    x0 = np.full(len(model.parts), start)
    bounds = [(0.0, 1e6)] * len(x0)
    options = {"ftol": 1e-14, "gtol": 1e-7}
    return optimize.minimize(model.profiled, x0, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


def _fit(model: _Model, ratios: Floats, parts: Sequence[str]) -> Fit:
    at = model.solved(ratios)
    sigma = float(np.sqrt(at.rest / model.free))
    parameters = np.append(ratios * sigma, sigma)
    deviations = dict.fromkeys(parts, 0.0) | dict(zip(model.parts, parameters.tolist(), strict=False))
    covariance = model.covariance(parameters)
    dofs = _satterthwaite(model, parameters, covariance)
    terms = tuple(
        _term(name, value, float(np.sqrt(variance)), dof, len(model.y))
        for name, value, variance, dof in zip(model.names, at.beta.tolist(), np.diag(covariance), dofs, strict=True)
    )
    return Fit(terms, deviations | {"residual": sigma}, model.profiled(ratios**2)[0], model.size, len(model.y))


def _term(name: str, estimate: float, error: float, dof: float, participants: int) -> Term:
    t = estimate / error
    p = float(2 * stats.t.sf(abs(t), dof))
    limits = partial(student, estimate, error, dof)
    return Term(name, estimate, error, dof, t, p, *towards_nothing(limits, participants))


def _satterthwaite(model: _Model, parameters: Floats, covariance: Floats) -> list[float]:
    """Each fixed effect's degrees of freedom, 2 v^2 / (g' A g): variance v, gradient g, parameters' covariance A."""
    steps = STEP * np.diag(parameters)
    slopes = np.array(
        [
            np.diag(model.covariance(parameters + step) - model.covariance(parameters - step)) / (2 * step.sum())
            for step in steps
        ]
    )
    spread = 2 * np.linalg.pinv(_hessian(model, parameters, steps), hermitian=True)
    variances = np.diag(covariance)
    dofs = [float(2 * v**2 / (g @ spread @ g)) for v, g in zip(variances, slopes.T, strict=True)]
    if not all(np.isfinite(dof) and dof > 0 for dof in dofs):
        raise Refusal("the runs do not show how uncertain the variances are")
    return dofs


def _hessian(model: _Model, at: Floats, steps: Floats) -> Floats:
    f = model.criterion
    n = len(at)
    matrix = np.empty((n, n))
    middle = f(at)
    for i in range(n):
        a = steps[i]
        matrix[i, i] = (f(at + a) - 2 * middle + f(at - a)) / a.sum() ** 2
        for j in range(i):
            b = steps[j]
            cross = f(at + a + b) - f(at + a - b) - f(at - a + b) + f(at - a - b)
            matrix[i, j] = matrix[j, i] = cross / (4 * a.sum() * b.sum())
    return matrix
