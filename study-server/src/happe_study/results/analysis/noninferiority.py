# SPDX-License-Identifier: GPL-2.0-or-later
"""The test of non-inferiority of mean ratings, which shows whether people are not appreciably less satisfied.

H0: the mean difference (treatment minus reference) is at most -margin; H1: it is above. The unit is the participant,
with the mean of the differences over the applications that have both ratings.

`intervals` computes the limits. They allow for skewness (ratings crowd at the top of their scale, so differences have a
long lower tail), for a tenth of people whom a small study may miss and who dislike the treatment by all that the margin
allows, and for missing pairs as bad as the worst one seen. Verdicts (ICH E9, 3.3.2; Piaggio et al., JAMA 308, 2012):

- non-inferior: the lower limit at 1 - alpha is above -margin;
- inferior: the upper limit is below -margin;
- inconclusive: neither. `why` names the missing pairs or the small sample, if the verdict would differ without them.

Margin and alpha come from the locked protocol: chosen after a look at the data, they would prove nothing.

Assumed: participants are independent, and the points of the rating scale are evenly spaced, as in the paper's means.
The cumulative-link model does not assume even spacing.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from scipy import optimize

from happe_study.results.analysis import intervals
from happe_study.results.analysis.intervals import MINORITY, Estimate, Unseen, is_nothing
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Floats, Panel


class Verdict(StrEnum):
    """The verdict of the test."""

    NON_INFERIOR = "non-inferior"
    INCONCLUSIVE = "inconclusive"
    INFERIOR = "inferior"


@dataclass(frozen=True)
class AnalysisSet:
    """The test on a subset of participants and pairs: the mean difference, its limits and its verdict."""

    name: str
    participants: int
    pairs: int
    difference: float
    low: float
    high: float
    verdict: Verdict


@dataclass(frozen=True)
class NonInferiority:
    """The test's result, in points of the rating scale. `low`: the one-sided limit at 1 - alpha; `p` is one-sided.

    `high` is the limit on the other side, so [low, high] is the two-sided interval at 1 - 2 alpha. `sets` has the test
    on other subsets. `tipping`: if missing pairs were this many points worse than those seen, the verdict would no
    longer be non-inferior; None: it is another verdict, or no pair is missing.
    """

    treatment: str
    reference: str
    margin: float
    alpha: float
    difference: float
    error: float
    standardised: float
    low: float
    high: float
    p: float
    verdict: Verdict
    why: tuple[str, ...]
    sets: tuple[AnalysisSet, ...]
    tipping: float | None
    participants: int
    pairs: int
    missing: int


@dataclass(frozen=True)
class Difference:
    """The mean difference of ratings in an application (None: in all), with the test's limits."""

    treatment: str
    reference: str
    application: str | None
    estimate: Estimate
    standardised: float
    pairs: int


def difference(
    panel: Panel, sides: tuple[str, str], application: str | None, margin: float | None, scale: tuple[int, int]
) -> Difference:
    """The difference of `sides` (treatment, reference). Without a margin, the unseen tenth may differ by the scale."""
    treated, base = panel.pairs(*sides)
    pairs = treated - base
    if application is not None:
        pairs = pairs[:, [panel.applications.index(application)]]
    found = intervals.of_pairs(pairs, Unseen())
    width = float(scale[1] - scale[0])
    wanted = Wanted(margin or width, (1 - intervals.LEVEL) / 2, width)
    low, high = wanted.limits(*intervals.worst_and_best(pairs))
    standardised = found.value / (found.error * float(np.sqrt(found.participants)))
    return Difference(
        *sides, application, replace(found, low=low, high=high), standardised, int((~np.isnan(pairs)).sum())
    )


class Wanted(NamedTuple):
    """The test's parameters, in points. `width` is the scale's, the largest possible difference."""

    margin: float
    alpha: float
    width: float

    @property
    def dislike(self) -> float:
        """The mean difference of the unseen tenth: -margin / 0.1, or -width if that is nearer to 0."""
        return -min(self.margin / MINORITY, self.width)

    def limits(self, lowest: Floats, highest: Floats) -> tuple[float, float]:
        """Limits of the mean, from the pairs with missing ones at their lowest, and at their highest."""
        unseen = Unseen(lowest=self.dislike)
        low = intervals.limits(intervals.own_means(lowest), self.alpha, unseen)[0]
        high = intervals.limits(intervals.own_means(highest), self.alpha, unseen)[1]
        return max(-self.width, float(low)), min(self.width, float(high))

    def verdict(self, low: float, high: float) -> Verdict:
        """The verdict for these limits."""
        if low > -self.margin:
            return Verdict.NON_INFERIOR
        return Verdict.INFERIOR if high < -self.margin else Verdict.INCONCLUSIVE

    def p(self, lowest: Floats) -> Floats:
        """One-sided p of participants' means, along the last axis."""
        return intervals.p_above(lowest, -self.margin, self.dislike)


def test(panel: Panel, treatment: str, reference: str, wanted: Wanted) -> NonInferiority:
    """Test a panel of ratings. Raises Refusal for too few participants or pairs, or if all have the same difference."""
    if not (wanted.margin > 0 and 0 < wanted.alpha < 1 / 2):
        raise Refusal("the margin must be above 0 and alpha between 0 and 0.5")
    treated, base = panel.pairs(treatment, reference)
    pairs = treated - base
    found = intervals.of_pairs(pairs, Unseen(), tail=wanted.alpha)
    lowest, highest = intervals.worst_and_best(pairs)
    sets = (
        _set("all, missing pairs at the worst for each limit", pairs, lowest, highest, wanted),
        _set("all, without the missing pairs", pairs, pairs, pairs, wanted),
        *_per_protocol(pairs, wanted),
    )
    main = sets[0]
    there = int((~np.isnan(pairs)).sum())
    standardised = found.value / (found.error * float(np.sqrt(found.participants)))
    return NonInferiority(
        treatment, reference, wanted.margin, wanted.alpha, found.value, found.error, standardised, main.low, main.high,
        float(wanted.p(lowest.mean(axis=1))), main.verdict, _in_the_way(sets, pairs, wanted), sets,
        _tipping(pairs, wanted), found.participants, there, pairs.size - there,
    )  # fmt: skip


def _set(name: str, pairs: Floats, lowest: Floats, highest: Floats, wanted: Wanted) -> AnalysisSet:
    each, (low, high) = intervals.own_means(pairs), wanted.limits(lowest, highest)
    there = int((~np.isnan(pairs)).sum())
    return AnalysisSet(name, len(each), there, float(each.mean()), low, high, wanted.verdict(low, high))


def _per_protocol(pairs: Floats, wanted: Wanted) -> list[AnalysisSet]:
    """The test on participants with every pair, if these are enough and differ."""
    whole = pairs[~np.isnan(pairs).any(axis=1)]
    if len(whole) < intervals.FEWEST or is_nothing(float(whole.mean(axis=1).std()), 1.0):
        return []
    return [_set("per protocol: participants with every pair", whole, whole, whole, wanted)]


def _in_the_way(sets: tuple[AnalysisSet, ...], pairs: Floats, wanted: Wanted) -> tuple[str, ...]:
    """Why a study that looks non-inferior or inferior is inconclusive."""
    whole, there = sets[0], sets[1]
    if whole.verdict is not Verdict.INCONCLUSIVE:
        return ()
    if there.verdict is not Verdict.INCONCLUSIVE:
        said = (
            f"The verdict depends on the {int(np.isnan(pairs).sum())} missing pairs: {there.verdict} without them, "
            f"{whole.verdict} if they are as bad as the worst one seen."
        )
        return (said,)
    each = intervals.own_means(pairs)
    low = float(intervals.limits(each, wanted.alpha, Unseen())[0])
    if low <= -wanted.margin:
        return ()
    said = (
        f"{len(each)} people are too few to rule out that a tenth of all people dislikes the condition by "
        f"{-wanted.dislike:g} points: a study of {len(each)} meets none of them with probability "
        f"{(1 - MINORITY) ** len(each):.2f}. Without such people it would be non-inferior (lower limit {low:.3f})."
    )
    return (said,)


def _tipping(pairs: Floats, wanted: Wanted) -> float | None:
    """The tipping point: how much worse than those seen missing pairs must be for the verdict to change."""
    missing = np.isnan(pairs)
    if not missing.any():
        return None

    def above(worse: float) -> float:
        filled = np.where(missing, np.nanmean(pairs, axis=0) - worse, pairs)
        return wanted.limits(filled, filled)[0] + wanted.margin

    if above(0.0) <= 0 or above(2 * wanted.width) > 0:
        return None
    return float(optimize.brentq(above, 0.0, 2 * wanted.width, xtol=1e-6))
