# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether people are not appreciably less satisfied: the test of non-inferiority of mean ratings.

H0: the mean difference (treatment less reference) is at most -margin; H1: it is above. The unit is the participant:
differences of each application's pair of runs, averaged over the applications with both ratings, give one figure each.
`intervals` has the limits. They allow for skewness (ratings crowd at the top of their scale, so differences have a long
lower tail), for a tenth of people whom a small study did not meet and whose dislike is as large as the margin allows,
and for missing pairs as bad as the worst one seen. The verdict (ICH E9, 3.3.2; Piaggio et al., JAMA 308, 2012):

- non-inferior: the lower limit at 1 - alpha is above -margin;
- inferior: the upper limit is below -margin;
- inconclusive: neither. `why` says what is in the way, if without it the verdict would be another one.

Margin and alpha are the locked protocol's: chosen after a look at the data they would prove nothing.

Assumed: participants are independent. Points of the rating scale are taken as evenly spaced, as in the paper's means;
the cumulative-link model does without that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import optimize

from happe_study.results.analysis import intervals
from happe_study.results.analysis.intervals import MINORITY, Unseen, is_nothing
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from happe_study.results.analysis.intervals import Estimate
    from happe_study.results.analysis.tidy import Floats, Panel


class Verdict(StrEnum):
    """What the test says."""

    NON_INFERIOR = "non-inferior"
    INCONCLUSIVE = "inconclusive"
    INFERIOR = "inferior"


@dataclass(frozen=True)
class AnalysisSet:
    """The test on a set of participants and pairs: the mean difference, its limits and the verdict on them."""

    name: str
    participants: int
    pairs: int
    difference: float
    low: float
    high: float
    verdict: Verdict


@dataclass(frozen=True)
class NonInferiority:
    """The test's outcome, in points of the rating scale. `low` is the one-sided limit at 1 - alpha, p one-sided.

    `high` is the limit on the other side, so that [low, high] is the two-sided interval at 1 - 2 alpha. `sets` has the
    same on other sets of the data. `tipping` is by how many points missing pairs would have to be worse than those
    seen to take the verdict away; None: there is nothing to take away, or nothing missing.
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
    """The mean difference of ratings of an application (None: of all), with the limits of the test."""

    treatment: str
    reference: str
    application: str | None
    estimate: Estimate
    standardised: float
    pairs: int


def difference(
    panel: Panel, sides: tuple[str, str], application: str | None, margin: float | None, scale: tuple[int, int]
) -> Difference:
    """Treatment less reference. Without a margin the unseen tenth may dislike by the width of the scale."""
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
    """What the test is about, in points. `width` is the scale's, beyond which no difference can be."""

    margin: float
    alpha: float
    width: float

    @property
    def dislike(self) -> float:
        """The mean difference of the unseen tenth: all that the margin leaves, or all that the scale does."""
        return -min(self.margin / MINORITY, self.width)

    def limits(self, lowest: Floats, highest: Floats) -> tuple[float, float]:
        """Limits of the mean, where missing pairs were filled in at the least and at the most."""
        unseen = Unseen(lowest=self.dislike)
        low = intervals.limits(intervals.own_means(lowest), self.alpha, unseen)[0]
        high = intervals.limits(intervals.own_means(highest), self.alpha, unseen)[1]
        return max(-self.width, float(low)), min(self.width, float(high))

    def verdict(self, low: float, high: float) -> Verdict:
        """What limits say."""
        if low > -self.margin:
            return Verdict.NON_INFERIOR
        return Verdict.INFERIOR if high < -self.margin else Verdict.INCONCLUSIVE

    def p(self, lowest: Floats) -> Floats:
        """One-sided p of participants' means, along the last axis."""
        return intervals.p_above(lowest, -self.margin, self.dislike)


def test(panel: Panel, treatment: str, reference: str, wanted: Wanted) -> NonInferiority:
    """Test the ratings of a panel. Refusal for too few participants or pairs, or if all differ alike."""
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
    """Only who has every pair, if these are enough and differ."""
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
    """How much worse than those seen missing pairs must be to take a verdict of non-inferiority away."""
    missing = np.isnan(pairs)
    if not missing.any():
        return None

    def above(worse: float) -> float:
        filled = np.where(missing, np.nanmean(pairs, axis=0) - worse, pairs)
        return wanted.limits(filled, filled)[0] + wanted.margin

    if above(0.0) <= 0 or above(2 * wanted.width) > 0:
        return None
    return float(optimize.brentq(above, 0.0, 2 * wanted.width, xtol=1e-6))
