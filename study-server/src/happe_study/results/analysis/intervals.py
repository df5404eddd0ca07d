# SPDX-License-Identifier: GPL-2.0-or-later
"""Intervals whose unit is the participant: the studentised cluster bootstrap, and Student's t on participants' means.

Sources: Efron and Tibshirani, An Introduction to the Bootstrap (1993), section 12.5; Field and Welsh, Bootstrapping
clustered data, JRSS B 69 (2007). Participants are drawn with replacement, each with all of his or her runs, so nothing
is assumed of how runs of one person depend on each other. Assumed: participants are independent of each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from happe_study.results.analysis.tidy import Floats

LEVEL = 0.95
RESAMPLES = 9999
SEED = 20100916
FEWEST = 5  # participants, of whom 126 different resamples can be drawn
MOST_DEGENERATE = 0.01  # of resamples
ROUNDING = 1e-12


@dataclass(frozen=True)
class Estimate:
    """A figure with its interval and how many participants it is of. `error` is the standard error."""

    value: float
    low: float
    high: float
    error: float
    participants: int
    method: str
    level: float = LEVEL


def weights(participants: int, resamples: int = RESAMPLES, seed: int = SEED) -> Floats:
    """How often each participant is in each resample: resamples x participants. Refusal for fewer than FEWEST."""
    require(participants)
    generator = np.random.default_rng(seed)
    drawn = generator.multinomial(participants, np.full(participants, 1 / participants), size=resamples)
    return drawn.astype(float)


def require(participants: int) -> None:
    """Refusal of an interval for fewer than FEWEST participants."""
    if participants < FEWEST:
        raise Refusal(f"{participants} participants; an interval needs at least {FEWEST}")


def is_nothing(error: float, value: float) -> bool:
    """Whether a standard error is no more than what rounding leaves."""
    return error <= ROUNDING * max(1.0, abs(value))


def studentised(
    value: float, error: float, values: Floats, errors: Floats, *, level: float = LEVEL
) -> tuple[float, float]:
    """The bootstrap-t interval of a figure, from the figures and standard errors of resamples. Refusal without scatter.

    A resample without a figure or without scatter has no t; up to 1 % of such are passed over, with more there is none.
    """
    if not np.isfinite(error) or is_nothing(error, value):
        raise Refusal("there is no scatter between participants to reckon an interval from")
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (values - value) / errors
    usable = np.isfinite(t)
    if (~usable).mean() > MOST_DEGENERATE:
        raise Refusal(
            f"{(~usable).mean():.0%} of the resamples have no figure: too few participants with both conditions"
        )
    tail = (1 - level) / 2
    upper, lower = np.quantile(t[usable], [1 - tail, tail])
    return float(value - upper * error), float(value - lower * error)


def of_means(values: Floats, *, level: float = LEVEL) -> Estimate:
    """The mean of one figure a participant, with Student's t interval (n - 1 degrees of freedom, two-sided)."""
    n = len(values)
    require(n)
    error = float(values.std(ddof=1) / np.sqrt(n))
    if is_nothing(error, float(values.mean())):
        raise Refusal("all participants have the same figure, which leaves no scatter to reckon an interval from")
    half = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    mean = float(values.mean())
    return Estimate(mean, mean - half, mean + half, error, n, f"Student's t, {n - 1} degrees of freedom", level)
