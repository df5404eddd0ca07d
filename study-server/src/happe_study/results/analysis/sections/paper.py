# SPDX-License-Identifier: GPL-2.0-or-later
"""Table A.1 as in the paper."""

from functools import partial
from itertools import product

from happe_study.results.analysis import paper_tables
from happe_study.results.analysis.noninferiority import Difference, difference
from happe_study.results.analysis.paper_tables import Cell, Total
from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.study import Study, attempt, fixed, percent, plain
from happe_study.results.analysis.tidy import satisfaction

ROUNDING = "Rounded to two decimals, half away from zero, from unrounded figures."
CELLS = (
    "The paper's mean ratings over applications are means of its printed cells; both are given: the mean of the means, "
    "and in brackets the mean of printed cells."
)


def section(study: Study) -> Section:
    """Table A.1, and its totals over applications."""
    cells = paper_tables.table_a1(study.runs)
    totals = paper_tables.totals(cells)
    refused: list[str] = []
    found = _differences_of(study, refused)
    return Section(
        "table-a1",
        "Power and satisfaction: Table A.1",
        Weight.PAPER,
        text=(
            (
                "The mean over users of each run's mean power, and of its rating, with the sample standard deviation "
                "(n - 1); the improvement is 1 - ratio of mean powers over ondemand."
            ),
        ),
        tables=(_a1(study, cells), _totals(totals), *((_differences(study, found),) if found else ())),
        refused=tuple(refused),
        data={"cells": plain(cells), "totals": plain(totals), "differences": plain(found)},
    )


def _differences_of(study: Study, refused: list[str]) -> list[Difference]:
    panel = study.runs.panel(satisfaction)
    wanted = study.protocol.analysis if study.protocol else None
    places = product(study.treatments, (*panel.applications, None))
    found = (
        attempt(refused, f"difference of ratings, {treatment}, {study.name(application)}", partial(
            difference, panel, (treatment, study.reference), application, wanted.margin if wanted else None, study.scale
        ))
        for treatment, application in places
    )  # fmt: skip
    return [each for each in found if each]


def _differences(study: Study, found: list[Difference]) -> Table:
    rows = tuple(
        (
            each.treatment,
            study.name(each.application),
            str(each.estimate.participants),
            str(each.pairs),
            fixed(each.estimate.value),
            f"{fixed(each.estimate.low)} to {fixed(each.estimate.high)}",
            fixed(each.standardised),
        )
        for each in found
    )
    note = (
        "95 % intervals as for the test of non-inferiority, not corrected for their number. Standardised: in standard "
        "deviations between participants."
    )
    columns = ("Condition", "Application", "n", "Pairs", "Difference, points", "95 % interval", "Standardised")
    return Table(f"Ratings less those under {study.reference}", columns, rows, (note,), names=2)


def _a1(study: Study, cells: list[Cell]) -> Table:
    rows = tuple(
        (
            study.name(cell.application),
            cell.condition,
            str(cell.power_n),
            fixed(cell.power_mean_w),
            fixed(cell.power_sd_w),
            str(cell.rating_n),
            fixed(cell.rating_mean),
            fixed(cell.rating_sd),
            percent(cell.improvement),
        )
        for cell in cells
    )
    columns = ("Application", "Condition", "n", "Power, W", "s. d.", "n", "Rating", "s. d.", "Improvement, %")
    return Table("Table A.1", columns, rows, (ROUNDING, *study.meter), names=2)


def _totals(totals: list[Total]) -> Table:
    rows = tuple((each.condition, percent(each.improvement), _both(fixed(each.rating_mean), each)) for each in totals)
    return Table("Over all applications", ("Condition", "Improvement, %", "Rating"), rows, (ROUNDING, CELLS))


def _both(mean: str, total: Total) -> str:
    return mean if total.rating_of_cells is None else f"{mean} ({total.rating_of_cells})"
