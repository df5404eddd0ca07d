# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether people are not appreciably less satisfied: the test of non-inferiority of mean ratings.

H0: the mean difference (treatment less reference) is at most -margin; H1: it is above. The unit is the participant:
differences of each application's pair of runs, averaged over the applications with both ratings, give one figure each.
Those are tested one-sided with Student's t and n - 1 degrees of freedom, after Hall's correction for skewness (JRSS B
54, 1992): ratings crowd at the top of their scale, so that differences have a long lower tail, for which the plain t
errs too often. Its limits stand beside, for comparison. Non-inferiority is shown if the lower limit at 1 - alpha is
above -margin (ICH E9, 3.3.2; Piaggio et al., JAMA 308, 2012). If the upper limit is below -margin, the treatment is
inferior by more than the margin. Margin and alpha are the locked protocol's: chosen after
a look at the data they would prove nothing.

Assumed: participants are independent. Points of the rating scale are taken as evenly spaced, as in the paper's means;
the cumulative-link model does without that. docs/analysis.md has the errors of the first kind in simulated studies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from happe_study.results.analysis.intervals import is_nothing, require
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from happe_study.results.analysis.tidy import Floats, Panel


@dataclass(frozen=True)
class NonInferiority:
    """The test's outcome, in points of the rating scale. `low` is the one-sided limit at 1 - alpha, p one-sided.

    `high` is the limit on the other side, so that [low, high] is the two-sided interval at 1 - 2 alpha. `plain` are the
    limits without the correction for skewness.
    """

    treatment: str
    reference: str
    margin: float
    alpha: float
    difference: float
    error: float
    dof: int
    low: float
    high: float
    p: float
    plain: tuple[float, float]
    shown: bool
    inferior: bool
    participants: int
    pairs: int
    missing: int


def differences(treated: Floats, base: Floats) -> Floats:
    """Each participant's mean difference over applications, of those who have a pair."""
    gaps = treated - base
    there = ~np.isnan(gaps)
    kept = there.any(axis=1)
    means: Floats = np.nansum(gaps[kept], axis=1) / there[kept].sum(axis=1)
    return means


def test(panel: Panel, treatment: str, reference: str, *, margin: float, alpha: float) -> NonInferiority:
    """Test the ratings of a panel. Refusal for too few participants, or if all differ alike."""
    if not (margin > 0 and 0 < alpha < 1 / 2):
        raise Refusal("the margin must be above 0 and alpha between 0 and 0.5")
    treated, base = panel.pairs(treatment, reference)
    each = differences(treated, base)
    require(len(each))
    mean, error, p = (float(value) for value in reckoned(each, margin))
    if is_nothing(error, mean):
        raise Refusal("all participants' ratings differ alike, which leaves no scatter to test with")
    n = len(each)
    quantile = float(stats.t.ppf(1 - alpha, n - 1))
    low, high = mean - error * _uncorrected(quantile, each), mean - error * _uncorrected(-quantile, each)
    plain = (mean - quantile * error, mean + quantile * error)
    pairs = int((~np.isnan(treated)).sum())
    return NonInferiority(
        treatment, reference, margin, alpha, mean, error, n - 1, low, high, p,
        plain, low > -margin, high < -margin, n, pairs, treated.size - pairs,
    )  # fmt: skip


def reckoned(each: Floats, margin: float) -> tuple[Floats, Floats, Floats]:
    """Mean, standard error and one-sided p along the last axis; p is NaN without scatter.

    With S = t / sqrt(n) and g the skewness, Hall's t is sqrt(n) (S + g S^2 / 3 + g^2 S^3 / 27 + g / 6n).
    """
    n = each.shape[-1]
    mean, error = each.mean(axis=-1), each.std(axis=-1, ddof=1) / np.sqrt(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = (mean + margin) / error / np.sqrt(n)
        g = _skewness(each)
        t = np.sqrt(n) * (s + g * s**2 / 3 + g**2 * s**3 / 27 + g / (6 * n))
    return mean, error, stats.t.sf(t, n - 1)


def _skewness(each: Floats) -> Floats:
    """Of the population, along the last axis: the sample's G1 (Joanes and Gill, The Statistician 47, 1998)."""
    n = each.shape[-1]
    gaps = each - each.mean(axis=-1, keepdims=True)
    skewness: Floats = n**2 / ((n - 1) * (n - 2)) * (gaps**3).mean(axis=-1) / each.std(axis=-1, ddof=1) ** 3
    return skewness


def _uncorrected(t: float, each: Floats) -> float:
    """The plain t whose corrected one is `t`: the cubic has one root, as it never falls."""
    n, g = len(each), float(_skewness(each))
    if abs(g) < FLAT:
        return t
    return float(np.sqrt(n) * 3 / g * (np.cbrt(1 + g * (t / np.sqrt(n) - g / (6 * n))) - 1))


FLAT = 1e-6  # a skewness that corrects nothing
