# SPDX-License-Identifier: GPL-2.0-or-later
"""Intervals of the mean of a value per participant. They hold for few people, unseen minorities and missing pairs.

Three things can break Student's t here. This module answers each (docs/inference.md has the simulated studies):

- Skewness. Each limit is the wider one of Student's t and of t after Hall's correction (JRSS B 54, 1992). With
  S = t / sqrt(n) and g the skewness, Hall's t is sqrt(n) (S + g S^2 / 3 + g^2 S^3 / 27 + g / 6n).
- A minority of whom nobody is in the sample. A sample of n misses a tenth of all people with probability 0.9^n. If that
  is above the tail, a limit must also hold for a mix: nine tenths are like the people seen, at the level tail / 0.9^n,
  and a tenth has the value `unseen`. From 36 people on (at a tail of 0.025) this changes nothing.
- Values that are missing for a reason. A missing pair may be anything between the lowest and the highest value of its
  application. The lower limit uses the lowest, the upper limit the highest (Horowitz and Manski, JASA 95, 2000).

Assumed: participants are independent of each other.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Floats

LEVEL = 0.95
FEWEST = 5  # participants
MINORITY = 0.1  # the share of all people of whom perhaps nobody took part
MOST_MISSING = 0.25  # largest share of missing pairs
ROUNDING = 1e-12
FLAT = 1e-6  # a smaller skewness needs no correction
METHOD = "Student's t over participants, with allowance for skewness, an unseen tenth, and missing pairs"


class Unseen(NamedTuple):
    """The lowest and the highest mean value of an unseen minority. None: no allowance on that side."""

    lowest: float | None = None
    highest: float | None = None


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, its standard error (`error`), and its number of participants."""

    value: float
    low: float
    high: float
    error: float
    participants: int
    method: str
    level: float = LEVEL


def require(participants: int) -> None:
    """Raise Refusal for fewer than FEWEST participants."""
    if participants < FEWEST:
        raise Refusal(f"{participants} participants; an interval needs at least {FEWEST}")


def require_pairs(pairs: Floats) -> None:
    """Raise Refusal if too many pairs (participants x applications) are missing for an interval."""
    there = ~np.isnan(pairs)
    require(int(there.any(axis=1).sum()))
    if not there.any(axis=0).all():
        raise Refusal("an application has no pair of runs")
    missing = 1 - there.mean()
    if missing > MOST_MISSING:
        raise Refusal(f"{missing:.0%} of the pairs are missing; more than {MOST_MISSING:.0%} leave no interval")


def is_nothing(error: float, value: float) -> bool:
    """Whether a standard error is only a rounding error."""
    return error <= ROUNDING * max(1.0, abs(value))


def of_pairs(pairs: Floats, unseen: Unseen, *, tail: float = (1 - LEVEL) / 2) -> Estimate:
    """The mean of participants' means over applications, with its interval. NaN is a missing pair. Raises Refusal."""
    require_pairs(pairs)
    each = own_means(pairs)
    n = len(each)
    mean, error = float(each.mean()), float(each.std(ddof=1) / np.sqrt(n))
    if is_nothing(error, mean):
        raise Refusal("all participants have the same figure, so no interval can be computed")
    lowest, highest = worst_and_best(pairs)
    low = float(limits(own_means(lowest), tail, unseen)[0])
    high = float(limits(own_means(highest), tail, unseen)[1])
    return Estimate(mean, low, high, error, n, METHOD, 1 - 2 * tail)


def own_means(pairs: Floats) -> Floats:
    """The mean over applications (the last axis) of each participant who has a pair."""
    there = ~np.isnan(pairs)
    kept = there.any(axis=-1)
    means: Floats = np.nansum(pairs[kept], axis=-1) / there[kept].sum(axis=-1)
    return means


def worst_and_best(pairs: Floats) -> tuple[Floats, Floats]:
    """The pairs with missing ones at the application's lowest value, and with missing ones at its highest."""
    missing = np.isnan(pairs)
    return np.where(missing, np.nanmin(pairs, axis=0), pairs), np.where(missing, np.nanmax(pairs, axis=0), pairs)


def limits(each: Floats, tail: float, unseen: Unseen) -> tuple[Floats, Floats]:
    """Both limits of the mean along the last axis, each at the one-sided level 1 - tail."""
    low, high = _skewed(each, tail)
    level = tail / (1 - MINORITY) ** each.shape[-1]
    if level >= 1:
        return low, high
    seen_low, seen_high = _skewed(each, level)
    if unseen.lowest is not None:
        low = np.minimum(low, (1 - MINORITY) * seen_low + MINORITY * unseen.lowest)
    if unseen.highest is not None:
        high = np.maximum(high, (1 - MINORITY) * seen_high + MINORITY * unseen.highest)
    return low, high


def p_above(each: Floats, bound: float, lowest: float) -> Floats:
    """One-sided p of the hypothesis that the mean is at most `bound`. NaN: no scatter.

    It is the smallest tail whose lower limit is above `bound`. `lowest`: the mean value of the unseen minority.
    """
    of_all = _p_skewed(each, bound)
    of_seen = _p_skewed(each, (bound - MINORITY * lowest) / (1 - MINORITY))
    larger: Floats = np.maximum(of_all, (1 - MINORITY) ** each.shape[-1] * of_seen)
    return larger


def _skewed(each: Floats, tail: float) -> tuple[Floats, Floats]:
    """On each side the wider limit of the plain and the corrected t."""
    n = each.shape[-1]
    mean, error, g = each.mean(axis=-1), each.std(axis=-1, ddof=1) / np.sqrt(n), _skewness(each)
    t = float(stats.t.ppf(1 - tail, n - 1))
    low = mean - error * np.maximum(t, _uncorrected(t, g, n))
    high = mean - error * np.minimum(-t, _uncorrected(-t, g, n))
    return low, high


def _p_skewed(each: Floats, bound: float) -> Floats:
    n = each.shape[-1]
    g = _skewness(each)
    with np.errstate(divide="ignore", invalid="ignore"):
        s = (each.mean(axis=-1) - bound) / each.std(axis=-1, ddof=1)
        corrected = s + g * s**2 / 3 + g**2 * s**3 / 27 + g / (6 * n)
    p: Floats = stats.t.sf(np.sqrt(n) * np.minimum(s, corrected), n - 1)
    return p


def _skewness(each: Floats) -> Floats:
    """The population's skewness along the last axis, estimated by G1 (Joanes and Gill, The Statistician 47, 1998)."""
    n = each.shape[-1]
    gaps, spread = each - each.mean(axis=-1, keepdims=True), each.std(axis=-1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness: Floats = n**2 / ((n - 1) * (n - 2)) * (gaps**3).mean(axis=-1) / spread**3
    return np.where(spread > 0, skewness, 0.0)


def _uncorrected(t: float, g: Floats, n: int) -> Floats:
    """The plain t whose corrected value is `t`. The cubic never falls, so it has one root."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(n) * 3 / g * (np.cbrt(1 + g * (t / np.sqrt(n) - g / (6 * n))) - 1)
    return np.where(np.abs(g) < FLAT, t, root)


def student(estimate: float, error: float, dof: float, tail: float = (1 - LEVEL) / 2) -> tuple[float, float]:
    """Student's t interval."""
    half = float(stats.t.ppf(1 - tail, dof)) * error
    return estimate - half, estimate + half


def towards_nothing(limits: Callable[[float], tuple[float, float]], participants: int) -> tuple[float, float]:
    """The 95 % interval of a coefficient, from its limits at a tail. The unseen tenth has an effect of 0."""
    tail = (1 - LEVEL) / 2
    low, high = limits(tail)
    level = tail / (1 - MINORITY) ** participants
    if level >= 1:
        return low, high
    seen = limits(level)
    return min(low, (1 - MINORITY) * seen[0]), max(high, (1 - MINORITY) * seen[1])
