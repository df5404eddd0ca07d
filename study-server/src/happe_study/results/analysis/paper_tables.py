# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables A.1 and A.3 of the paper, from runs.

Table A.1: for each application and condition the mean power over users with its sample standard deviation (n - 1), the
same for ratings, and the improvement over ondemand, 1 - ratio of mean powers. Every run with a value counts, paired or
not. If no run is missing, improvements equal those of `savings`. Table A.3: presses per minute, the mean over users.

Cells are rounded to two decimals, half away from zero, from figures that are not rounded. The paper's mean ratings over
applications (4.61, 4.55, 4.69, 4.63) are means of printed cells: 4.604 and 4.542 are what the ratings themselves give.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from itertools import product

import numpy as np

from happe_contract import conditions as names
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Floats, Panel, Run, Runs, satisfaction, watts

SECONDS_PER_MINUTE = 60
DIGITS = 12  # significant digits before rounding, so that 4.8749999999999999 counts as 4.875


def rounded(value: float, places: int = 2) -> Decimal:
    """A number rounded as in the paper: half away from zero, after rounding to 12 significant digits."""
    return Decimal(f"{value:.{DIGITS}g}").quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)


@dataclass(frozen=True)
class Cell:
    """A cell of Table A.1: n, mean and standard deviation of power (W) and rating; None if there are too few runs."""

    application: str
    condition: str
    power_n: int
    power_mean_w: float | None
    power_sd_w: float | None
    rating_n: int
    rating_mean: float | None
    rating_sd: float | None
    improvement: float | None  # a fraction


def table_a1(runs: Runs) -> list[Cell]:
    """The cells of Table A.1, application by application."""
    power, rating = runs.panel(watts), runs.panel(satisfaction)
    return [_cell(power, rating, *place) for place in product(runs.applications, runs.conditions)]


def _cell(power: Panel, rating: Panel, application: str, condition: str) -> Cell:
    watts_here, ratings = _column(power, application, condition), _column(rating, application, condition)
    return Cell(
        application,
        condition,
        len(watts_here),
        *_mean_and_sd(watts_here),
        len(ratings),
        *_mean_and_sd(ratings),
        _improvement(watts_here, power, application),
    )


def _column(panel: Panel, application: str, condition: str) -> Floats:
    values = panel.of(condition)[:, panel.applications.index(application)]
    return values[~np.isnan(values)]


def _mean_and_sd(values: Floats) -> tuple[float | None, float | None]:
    return (
        float(values.mean()) if len(values) else None,
        float(values.std(ddof=1)) if len(values) > 1 else None,
    )


def _improvement(values: Floats, power: Panel, application: str) -> float | None:
    if names.ONDEMAND not in power.conditions:
        return None
    base = _column(power, application, names.ONDEMAND)
    return float(1 - values.mean() / base.mean()) if len(values) and len(base) else None


@dataclass(frozen=True)
class Total:
    """A condition over all applications. `rating_of_cells` is, as in the paper, the mean of the printed cells."""

    condition: str
    improvement: float | None  # the mean of the applications' improvements
    rating_mean: float | None  # the mean of the applications' mean ratings
    rating_of_cells: Decimal | None


def totals(cells: Sequence[Cell]) -> list[Total]:
    """Section A.5.2's figures over all applications."""
    return [_total(condition, group) for condition, group in _by_condition(cells)]


def _by_condition(cells: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    for condition in dict.fromkeys(cell.condition for cell in cells):
        yield condition, [cell for cell in cells if cell.condition == condition]


def _total(condition: str, cells: Sequence[Cell]) -> Total:
    improvements = [cell.improvement for cell in cells if cell.improvement is not None]
    ratings = [cell.rating_mean for cell in cells if cell.rating_mean is not None]
    whole = len(ratings) == len(cells)
    printed = rounded(float(sum(map(rounded, ratings))) / len(cells)) if whole else None
    return Total(
        condition,
        float(np.mean(improvements)) if len(improvements) == len(cells) else None,
        float(np.mean(ratings)) if whole else None,
        printed,
    )


@dataclass(frozen=True)
class Presses:
    """A row of Table A.3: mean presses per minute over users, and the number of runs."""

    application: str
    phase: str  # training or operating
    runs: int
    performance: float
    power: float


def table_a3(runs: Runs) -> list[Presses]:
    """The rows of Table A.3, for training (T-HAPPE) and operation (O-HAPPE, B-HAPPE). Refusal if no run has counts.

    The paper does not say which runs are "the operating phase"; its words for O-HAPPE and B-HAPPE are the same.
    """
    phases = (("training", (names.T_HAPPE,)), ("operating", names.OPERATING))
    rows = [
        row
        for application, (phase, conditions) in product(runs.applications, phases)
        if (row := _presses(application, phase, _counted(runs, application, conditions)))
    ]
    if not rows:
        raise Refusal("no run under HAPPE has counts of key presses")
    return rows


def _counted(runs: Runs, application: str, conditions: Sequence[str]) -> list[Run]:
    here = (run for run in runs.under(conditions).rows if run.application == application)
    return [run for run in here if run.performance is not None and run.power is not None and run.seconds > 0]


def _presses(application: str, phase: str, runs: Sequence[Run]) -> Presses | None:
    """First each user's mean over runs, then the mean over users."""
    if not runs:
        return None
    users = sorted({run.participant for run in runs})
    rates = [
        [np.mean([_a_minute(run, key) for run in runs if run.participant == user]) for key in ("performance", "power")]
        for user in users
    ]
    performance, power = np.mean(rates, axis=0)
    return Presses(application, phase, len(runs), float(performance), float(power))


def _a_minute(run: Run, key: str) -> float:
    presses: int = getattr(run, key)
    return presses * SECONDS_PER_MINUTE / run.seconds
