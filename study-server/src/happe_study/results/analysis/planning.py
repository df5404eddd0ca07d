# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulating studies in advance, to find how many participants a study needs.

Each simulated participant rates each application under both conditions. Behind a rating is a normally distributed
satisfaction: the person's level, the person's liking of the treatment, and chance. Under the reference its variance is
1, and thresholds cut it into the points of the scale, as frequent as assumed. The treatment shifts it. A person's
saving is normal on the scale of logarithms. Alternatively, it draws participants from an existing study, real or
simulated. It tests each resulting study like a real one (`noninferiority`, `savings`). `plan` has the assumptions, and
combines the counts of batches. Seeds are fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from happe_study.results.analysis.intervals import FEWEST, LEVEL, limits, require
from happe_study.results.analysis.noninferiority import Wanted
from happe_study.results.analysis.plan import PAPER_RATINGS, Batch, Counts, Plan
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.savings import NOTHING_SAVED
from happe_study.results.analysis.tidy import Floats, Runs, satisfaction, watts

Draw = Callable[[int, int, int], "People"]  # numbers of participants and of studies, and the batch's own


SEED = 20100917


@dataclass(frozen=True)
class Assumptions:
    """The assumptions. `frequencies`: for each application, how often each rating occurs under the reference.

    `between` and `liking` are variances, as parts of 1: between people, and of their liking; 1 - `between` is chance.
    `shift` moves the satisfaction under the treatment, in its standard deviations. A `minority` rates the treatment
    `dislike` points lower. `saving` is the typical one, `spread` the standard deviation of people's mean log ratios of
    power.
    """

    frequencies: tuple[tuple[int, ...], ...] = PAPER_RATINGS
    between: float = 0.3
    liking: float = 0.05
    shift: float = 0.0
    minority: float = 0.0
    dislike: float = 2.0
    saving: float = 0.25
    spread: float = 0.06


class People(NamedTuple):
    """Participants' mean differences of ratings, and mean log ratios of power: studies x participants."""

    differences: Floats
    log_ratios: Floats


def thresholds(assumed: Assumptions) -> Floats:
    """The thresholds of the satisfaction: applications x cuts; infinite beyond points that nobody gives."""
    counts = np.array(assumed.frequencies, dtype=float)
    shares = np.cumsum(counts, axis=1)[:, :-1] / counts.sum(axis=1, keepdims=True)
    cuts: Floats = stats.norm.ppf(shares)
    return cuts


def difference(assumed: Assumptions) -> float:
    """The true mean difference, treatment minus reference. Liking widens the satisfaction under the treatment."""
    cuts = thresholds(assumed)
    treated = stats.norm.sf((cuts - assumed.shift) / np.sqrt(1 + assumed.liking))
    return float((treated - stats.norm.sf(cuts)).sum(axis=1).mean())


def shift_for(assumed: Assumptions, wanted: float) -> Assumptions:
    """The assumptions with the shift that gives the wanted true mean difference. Raises Refusal if there is none."""

    def gap(shift: float) -> float:
        return difference(_shifted(assumed, shift)) - wanted

    if gap(-8.0) * gap(8.0) > 0:
        raise Refusal(f"no shift of these ratings changes their mean by {wanted}")
    return _shifted(assumed, float(optimize.brentq(gap, -8.0, 8.0, xtol=1e-10)))


def _shifted(assumed: Assumptions, shift: float) -> Assumptions:
    return replace(assumed, shift=shift)


def rated(assumed: Assumptions, people: int, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Ratings from 1 on under the treatment and under the reference: people x applications."""
    chance = 1 - assumed.between
    if assumed.between < 0 or assumed.liking < 0 or chance <= 0:
        raise Refusal("the variances between people and of their liking must be at least 0, and leave some for chance")
    cuts = thresholds(assumed)
    level = generator.normal(0, np.sqrt(assumed.between), (people, 1))
    liking = generator.normal(assumed.shift, np.sqrt(assumed.liking), (people, 1))
    base = level + generator.normal(0, np.sqrt(chance), (people, len(cuts)))
    treated = level + liking + generator.normal(0, np.sqrt(chance), (people, len(cuts)))
    return _points(cuts, treated), _points(cuts, base)


def _points(cuts: Floats, satisfied: Floats) -> Floats:
    points = np.column_stack([np.searchsorted(cut, satisfied[:, n]) for n, cut in enumerate(cuts)])
    return points.astype(np.float64) + 1


def simulated(assumed: Assumptions, participants: int, studies: int, batch: int = 0) -> People:
    """Simulate studies of people by the assumptions."""
    generator = numbers_of(batch)
    treated, base = rated(assumed, studies * participants, generator)
    dislike = generator.random((len(base), 1)) < assumed.minority
    treated = np.where(dislike, np.maximum(1, treated - assumed.dislike), treated)
    means: Floats = (treated - base).mean(axis=1).reshape(studies, participants)
    return People(means, generator.normal(np.log1p(-assumed.saving), assumed.spread, means.shape))


def drawn(people: People, participants: int, studies: int, batch: int = 0) -> People:
    """Draw people for studies, with replacement, from the people of one study (arrays without the first axis)."""
    who = numbers_of(batch).integers(len(people.differences), size=(studies, participants))
    return People(people.differences[who], people.log_ratios[who])


def numbers_of(batch: int) -> np.random.Generator:
    """The random numbers of a batch. Batch 0 has those of SEED alone, because NumPy fills seeds with zeros."""
    return np.random.default_rng([SEED, batch])


def people_of(runs: Runs, treatment: str, reference: str) -> People:
    """A study's people who have every pair of runs with ratings and power. Raises Refusal if these are too few."""
    rated_pair, power_pair = (runs.panel(figure).pairs(treatment, reference) for figure in (satisfaction, watts))
    gaps, ratios = rated_pair[0] - rated_pair[1], np.log(power_pair[0] / power_pair[1])
    whole = ~(np.isnan(gaps) | np.isnan(ratios)).any(axis=1)
    require(int(whole.sum()))
    return People(gaps[whole].mean(axis=1), ratios[whole].mean(axis=1))


def drawing(plan: Plan) -> Draw:
    """A function that simulates studies by a plan's assumptions, with the paper's ratings in turn per application."""
    frequencies = tuple(PAPER_RATINGS[n % len(PAPER_RATINGS)] for n in range(plan.applications))
    wanted = {name: plan.assumed[name] for name in ("between", "liking", "minority", "dislike", "saving", "spread")}
    return partial(simulated, shift_for(Assumptions(frequencies, **wanted), plan.assumed["difference"]))


def counted(plan: Plan, draw: Draw, batch: Batch) -> Counts:
    """Count the studies of a batch that show non-inferiority, and that show the saving.

    A study without scatter, or with too few people left, shows neither.
    """
    left = plan.left(batch.size)
    if left < FEWEST:
        return Counts(0, 0)
    people = draw(left, batch.studies, batch.number)
    test = Wanted(plan.margin, plan.alpha, float(plan.width))
    highest = limits(people.log_ratios, (1 - LEVEL) / 2, NOTHING_SAVED)[1]
    noninferior = (test.p(people.differences) < test.alpha).sum()
    return Counts(int(noninferior), int((-np.expm1(highest) > plan.assumed["above"]).sum()))
