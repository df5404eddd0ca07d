# SPDX-License-Identifier: GPL-2.0-or-later
"""How many participants a study needs, by simulating studies before there is one.

Each simulated participant rates each application under both conditions. Behind a rating is a normal satisfaction: the
person's own level, the person's own liking of the treatment, and chance; its variance is 1 and thresholds cut it into
the points of the scale, so that under the reference they are as frequent as assumed. The treatment shifts it.
The study that comes out is tested as the real one is (`noninferiority`). Seeds are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import optimize, stats

from happe_study.results.analysis.noninferiority import reckoned
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_study.results.analysis.tidy import Floats

STUDIES = 2000
SEED = 20100917
# How often each rating from 1 on was given under ondemand: Table A.1's Torcs, Quake3, Glest and Trackballs. Of the two
# histograms that print Trackballs' cell it is the one with the longer tail.
PAPER_RATINGS = ((0, 0, 1, 9, 14), (0, 0, 0, 3, 21), (0, 0, 1, 9, 14), (0, 1, 0, 10, 13))


@dataclass(frozen=True)
class Assumptions:
    """What is assumed of ratings: of each application, how often each point of the scale is given under the reference.

    Variances are parts of 1: between people, of their liking; chance is the rest. `shift` is that of the satisfaction
    behind a rating, in its standard deviations.
    """

    frequencies: tuple[tuple[int, ...], ...] = PAPER_RATINGS
    between: float = 0.3
    liking: float = 0.05
    shift: float = 0.0


@dataclass(frozen=True)
class Power:
    """The share of simulated studies that show non-inferiority, its Monte Carlo error, and the true difference."""

    participants: int
    power: float
    error: float
    difference: float
    studies: int


def thresholds(assumed: Assumptions) -> Floats:
    """Where the satisfaction is cut: applications x cuts; infinite beyond points that nobody gives."""
    counts = np.array(assumed.frequencies, dtype=float)
    shares = np.cumsum(counts, axis=1)[:, :-1] / counts.sum(axis=1, keepdims=True)
    cuts: Floats = stats.norm.ppf(shares)
    return cuts


def difference(assumed: Assumptions) -> float:
    """The true mean difference, treatment less reference. The own liking widens the treatment's satisfaction."""
    cuts = thresholds(assumed)
    treated = stats.norm.sf((cuts - assumed.shift) / np.sqrt(1 + assumed.liking))
    return float((treated - stats.norm.sf(cuts)).sum(axis=1).mean())


def shift_for(assumed: Assumptions, wanted: float) -> Assumptions:
    """The assumptions with the shift whose true mean difference is the one that is wanted."""

    def gap(shift: float) -> float:
        return difference(_shifted(assumed, shift)) - wanted

    if gap(-8.0) * gap(8.0) > 0:
        raise Refusal(f"no shift of these ratings changes their mean by {wanted}")
    return _shifted(assumed, float(optimize.brentq(gap, -8.0, 8.0, xtol=1e-10)))


def _shifted(assumed: Assumptions, shift: float) -> Assumptions:
    return replace(assumed, shift=shift)


def simulated(assumed: Assumptions, participants: int, studies: int, seed: int = SEED) -> Floats:
    """Each participant's mean difference in each simulated study: studies x participants."""
    chance = 1 - assumed.between
    if assumed.between < 0 or assumed.liking < 0 or chance <= 0:
        raise Refusal("the variances between people and of their liking must be at least 0, and leave some for chance")
    generator = np.random.default_rng(seed)
    cuts = thresholds(assumed)
    shape = (studies, participants, len(cuts))
    level = generator.normal(0, np.sqrt(assumed.between), (studies, participants, 1))
    liking = generator.normal(assumed.shift, np.sqrt(assumed.liking), (studies, participants, 1))
    base = level + generator.normal(0, np.sqrt(chance), shape)
    treated = level + liking + generator.normal(0, np.sqrt(chance), shape)
    gaps = [np.searchsorted(cut, treated[..., n]) - np.searchsorted(cut, base[..., n]) for n, cut in enumerate(cuts)]
    means: Floats = np.mean(gaps, axis=0)
    return means


def power(
    assumed: Assumptions,
    participants: int,
    *,
    margin: float,
    alpha: float,
    studies: int = STUDIES,
) -> Power:
    """How often studies of this size show non-inferiority. A study without any scatter shows nothing."""
    if participants <= 1:
        raise Refusal("fewer than two participants")
    p = reckoned(simulated(assumed, participants, studies), margin)[2]
    share = float((p < alpha).mean())
    error = float(np.sqrt(share * (1 - share) / studies))
    return Power(participants, share, error, difference(assumed), studies)


def sizes(assumed: Assumptions, counts: Sequence[int], *, margin: float, alpha: float) -> list[Power]:
    """The power of each number of participants."""
    return [power(assumed, n, margin=margin, alpha=alpha) for n in counts]
