# SPDX-License-Identifier: GPL-2.0-or-later
"""How much power a condition saves, with its interval.

The paper's improvement is 1 - ratio of mean powers (section A.5.2, Table A.1). In an application it uses participants
who have both runs, since a run without its pair would compare different people. The total is the applications' mean. A
ratio of means depends most on people who take most power, and no interval of it holds for few people. So the interval
is of the typical saving, 1 - exp(mean of log ratios), in which each participant counts the same. On the scale of
logarithms the limits stay below 100 %. The unseen tenth saves nothing (see `intervals`). The interval covers
differences between people, but not an error of the meter's calibration, which affects all runs alike.

The best possible saving by frequency alone (section A.5.3), at a utilisation, is 1 - P(lowest frequency) / P(highest
frequency). P comes from the machine's own power model, or else from Table A.2, the paper's ThinkPad T61, linear between
the table's utilisations. The paper's 40.63 % is the T61's at 100 %; at 80 and 90 % it is 37.03 and 38.81 %. This does
not count work that a slower processor leaves undone, so with a saving above the best possible the processor did less.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from happe_study.results.analysis import intervals
from happe_study.results.analysis.intervals import Estimate, Unseen
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Floats, Panel
from happe_study.study.documents import PowerModel

NOTHING_SAVED = Unseen(highest=0.0)  # log ratio
SHOWN_PERCENT = (80.0, 90.0, 100.0)  # "above 80 %"


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


@dataclass(frozen=True)
class Bound:
    """The best possible saving at a utilisation, and a saving's share of it, both as fractions."""

    utilisation_percent: float
    best: float
    share: float


def best(model: PowerModel, utilisation_percent: float) -> float:
    """The best possible saving at a utilisation, as a fraction."""
    lowest, highest = (
        float(np.interp(utilisation_percent, model.utilisations_percent, row))
        for row in (model.watts[0], model.watts[-1])
    )
    return 1 - lowest / highest


def bounds(model: PowerModel, saving: float, at: Sequence[float] = SHOWN_PERCENT) -> list[Bound]:
    """The bound at each utilisation (percent), with the share of it that `saving` reaches."""
    return [Bound(percent, best(model, percent), saving / best(model, percent)) for percent in at]
