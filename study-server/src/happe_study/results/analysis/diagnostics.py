# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks of the models' assumptions, and of answers that depend on a single person.

- Proportional odds: the cumulative-link model assumes that a condition moves every point of the scale alike. So this
  fits a separate model at each cut of the scale (a rating above the cut or not). Estimates that differ by more than
  their errors speak against the assumption (Brant, Biometrics 46, 1990, compares the same).
- Residuals of log W: a run's value minus its participant's means by condition and by application. A residual is far if
  it lies beyond FAR standard deviations, which are estimated from the median absolute deviation.
- Influence: an answer computed again without each participant in turn (Cook, Technometrics 19, 1977).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from happe_study.results.analysis import ratings_clmm
from happe_study.results.analysis.design import Terms
from happe_study.results.analysis.intervals import is_nothing
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Bools, Floats, Panel

FAR = 4.0


@dataclass(frozen=True)
class AtCut:
    """A condition's log odds at one cut of the scale, and their error. If these are None, `refused` says why."""

    condition: str
    above: int
    estimate: float | None
    error: float | None
    refused: str = ""


def at_each_cut(
    ratings: Sequence[int], terms: Terms, conditions: Sequence[str], participants: Sequence[str]
) -> Iterator[AtCut]:
    """Each condition's effect at each cut: the log odds of a rating above the cut."""
    for cut in sorted(set(ratings))[:-1]:
        above = [int(rating > cut) for rating in ratings]
        try:
            effects = {e.name: e for e in ratings_clmm.fit(above, terms.columns, terms.names, participants).effects}
        except Refusal as refusal:
            yield from (AtCut(condition, cut, None, None, str(refusal)) for condition in conditions)
            continue
        yield from (AtCut(name, cut, effects[name].estimate, effects[name].error) for name in conditions)


@dataclass(frozen=True)
class Residual:
    """A run's residual of log W, in robust standard deviations."""

    participant: str
    application: str
    condition: str
    deviations: float


def residuals(power: Panel) -> list[Residual]:
    """The residuals of all runs with power. Raises Refusal if they are all zero."""
    left = np.log(power.values)
    for _ in range(100):  # alternate until it converges, because runs may be missing
        before = left
        for axis in (1, 2):
            means = np.nansum(left, axis=axis, keepdims=True) / np.maximum(
                1, (~np.isnan(left)).sum(axis, keepdims=True)
            )
            left = left - means
        if np.nanmax(np.abs(left - before), initial=0.0) < 1e-12:  # noqa: PLR2004 - rounding
            break
    known = left[~np.isnan(left)]
    spread = float(stats.median_abs_deviation(known, scale="normal")) if len(known) else 0.0
    if is_nothing(spread, 1.0):
        raise Refusal("the runs leave no residuals")
    found = []
    for person, application, condition in np.argwhere(~np.isnan(left)).tolist():
        names = power.participants[person], power.applications[application], power.conditions[condition]
        found.append(Residual(*names, float(left[person, application, condition]) / spread))
    return found


@dataclass(frozen=True)
class Influence:
    """An answer without each participant: its lowest and highest value, without whom, and whether the verdict turns."""

    what: str
    value: float
    least: float
    without_least: str
    most: float
    without_most: str
    turns: bool


def influence(what: str, panel: Panel, answer: Callable[[Panel], tuple[float, str]]) -> Influence:
    """Compute an answer (value and verdict) without each participant. Raises Refusal if `answer` does."""
    value, verdict = answer(panel)
    found = [answer(panel.of_people(_others(panel, n))) for n in range(len(panel.participants))]
    values = np.array([each[0] for each in found])
    least, most = int(values.argmin()), int(values.argmax())
    turns = any(each[1] != verdict for each in found)
    people = panel.participants
    return Influence(what, value, float(values[least]), people[least], float(values[most]), people[most], turns)


def _others(panel: Panel, n: int) -> Bools:
    others: Bools = np.arange(len(panel.participants)) != n
    return others


def quantiles(values: Floats) -> tuple[Floats, Floats]:
    """The residuals in ascending order, and the normal distribution's quantiles for them (Blom)."""
    ordered = np.sort(values)
    n = len(ordered)
    expected: Floats = stats.norm.ppf((np.arange(1, n + 1) - 3 / 8) / (n + 1 / 4))
    return ordered, expected
