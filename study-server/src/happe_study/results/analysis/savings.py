# SPDX-License-Identifier: GPL-2.0-or-later
"""How much power a condition saves, with its interval.

The paper's improvement is 1 - ratio of mean powers (section A.5.2, Table A.1). In an application it uses participants
who have both runs, since a run without its pair would compare different people. The total is the applications' mean. A
ratio of means depends most on people who take most power, and no interval of it holds for few people. So the interval
is of the typical saving, 1 - exp(mean of log ratios), in which each participant counts the same. On the scale of
logarithms the limits stay below 100 %. The unseen tenth saves nothing (see `intervals`). The interval covers
differences between people, but not an error of the meter's calibration, which affects all runs alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from happe_study.results.analysis import intervals
from happe_study.results.analysis.intervals import Estimate, Unseen
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from happe_study.results.analysis.tidy import Floats, Panel

NOTHING_SAVED = Unseen(highest=0.0)  # log ratio


@dataclass(frozen=True)
class Saving:
    """A saving, as a fraction of the reference's power. `application` None: over all applications.

    `paper` is 1 - ratio of mean powers, `estimate` the typical saving. `standardised` is the mean log ratio in units of
    its standard deviation between participants, above 0 for power saved.
    """

    treatment: str
    reference: str
    application: str | None
    paper: float
    estimate: Estimate
    standardised: float
    pairs: int
    missing: int  # pairs that lack one or both runs


def improvement(treated: Floats, reference: Floats) -> Floats:
    """1 - ratio of mean powers, for each application (the last axis). NaN is a missing pair."""
    saved: Floats = 1 - np.nanmean(treated, axis=-2) / np.nanmean(reference, axis=-2)
    return saved


def of_application(panel: Panel, treatment: str, reference: str, application: str | None) -> Saving:
    """The saving in an application (None: in all), with its interval. Raises Refusal if the data can't support it."""
    treated, base = panel.pairs(treatment, reference)
    if application is not None:
        at = [panel.applications.index(application)]
        treated, base = treated[:, at], base[:, at]
    there = ~np.isnan(treated)
    if not there.any(axis=0).all():
        raise Refusal(f"no participant has both {treatment} and {reference} with power in every application")
    estimate, standardised = typical(treated, base)
    paper = float(improvement(treated, base).mean())
    counts = int(there.sum()), int((~there).sum())
    return Saving(treatment, reference, application, paper, estimate, standardised, *counts)


def typical(treated: Floats, base: Floats) -> tuple[Estimate, float]:
    """The typical saving with its interval, and the standardised saving. Arrays are participants x applications."""
    found = intervals.of_pairs(np.log(treated / base), NOTHING_SAVED)
    saved = replace(
        found,
        value=float(-np.expm1(found.value)),
        low=float(-np.expm1(found.high)),
        high=float(-np.expm1(found.low)),
        error=found.error * float(np.exp(found.value)),
    )
    return saved, -found.value / (found.error * float(np.sqrt(found.participants)))
