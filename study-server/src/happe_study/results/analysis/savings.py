# SPDX-License-Identifier: GPL-2.0-or-later
"""How much power a condition saves. The paper's improvement is 1 - ratio of mean powers (section A.5.2, Table A.1).

Of an application: over the participants who have both runs, as a run without its pair would compare different people.
The total is the mean of the applications' improvements, as in the paper. Intervals: studentised cluster bootstrap by
participant, whose standard errors are the linearisation's (delta method). They hold what varies from person to person;
not what an error of the meter's calibration changes in all runs alike, which a ratio of one rig's watts hardly has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from happe_study.results.analysis import intervals
from happe_study.results.analysis.intervals import Estimate
from happe_study.results.analysis.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_study.results.analysis.tidy import Floats, Panel

METHOD = "studentised cluster bootstrap by participant"


@dataclass(frozen=True)
class Saving:
    """An improvement, as a fraction of the reference's power. `application` None: the mean over the applications."""

    treatment: str
    reference: str
    application: str | None
    estimate: Estimate
    pairs: int
    missing: int  # pairs of runs of which one or both are not there


def improvement(treated: Floats, reference: Floats) -> Floats:
    """1 - ratio of mean powers, for each application (the last axis); NaN are pairs that are missing."""
    saved: Floats = 1 - np.nanmean(treated, axis=-2) / np.nanmean(reference, axis=-2)
    return saved


def savings(panel: Panel, treatment: str, reference: str, *, resamples: int = intervals.RESAMPLES) -> list[Saving]:
    """The improvement of each application and of all, with intervals. Refusal if one cannot be had."""
    treated, base = panel.pairs(treatment, reference)
    whole = [(name, treated[:, [n]], base[:, [n]]) for n, name in enumerate(panel.applications)]
    every: Sequence[tuple[str | None, Floats, Floats]] = [*whole, (None, treated, base)]
    return [_saving((treatment, reference, name), one, other, resamples) for name, one, other in every]


def _saving(names: tuple[str, str, str | None], treated: Floats, base: Floats, resamples: int) -> Saving:
    there = ~np.isnan(treated)
    if not there.any(axis=0).all():
        raise Refusal(f"no participant has both {names[0]} and {names[1]} with power in every application")
    kept = there.any(axis=1)
    estimate = interval(treated[kept], base[kept], resamples=resamples)
    return Saving(*names, estimate, int(there.sum()), int((~there).sum()))


def interval(
    treated: Floats, base: Floats, *, resamples: int = intervals.RESAMPLES, drawn: Floats | None = None
) -> Estimate:
    """The mean improvement over applications, with its interval: arrays are participants x applications.

    `drawn` may hold the resamples' weights (intervals.weights).
    """
    n = len(treated)
    drawn = intervals.weights(n, resamples) if drawn is None else drawn
    value, error = _linearised(treated, base, np.ones((1, n)))
    values, errors = _linearised(treated, base, drawn)
    low, high = intervals.studentised(float(value[0]), float(error[0]), values, errors)
    return Estimate(float(value[0]), low, high, float(error[0]), n, METHOD)


def _linearised(treated: Floats, base: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """The mean improvement under each row of weights, and its standard error.

    With r = sum(w t) / sum(w b) a participant moves 1 - r by -(t - r b) / sum(w b), and the mean over applications by
    the mean of those; the error is that of a sum of independent moves, with n / (n - 1) for the means that were fitted.
    """
    t, b = np.nan_to_num(treated), np.nan_to_num(base)
    sums_t, sums_b = drawn @ t, drawn @ b
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = sums_t / sums_b
        share = 1 / (sums_b * t.shape[1])
        moves = share @ t.T - (share * ratio) @ b.T  # resamples x participants
    n = drawn.shape[1]
    error = np.sqrt((drawn * moves**2).sum(axis=1) * n / (n - 1))
    return 1 - ratio.mean(axis=1), error
