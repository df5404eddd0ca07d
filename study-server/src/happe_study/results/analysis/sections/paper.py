# SPDX-License-Identifier: GPL-2.0-or-later
"""Table A.1 as the paper has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_study.results.analysis import paper_tables
from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.study import fixed, percent, plain

if TYPE_CHECKING:
    from happe_study.results.analysis.paper_tables import Cell, Total
    from happe_study.results.analysis.study import Study

ROUNDING = "Rounded to two decimals, half away from zero, from figures that are not rounded."
CELLS = (
    "The paper's mean ratings over applications are means of its printed cells; both are given: the mean of the means, "
    "and in brackets the mean of printed cells."
)


def section(study: Study) -> Section:
    """Table A.1, and its totals over applications."""
    cells = paper_tables.table_a1(study.runs)
    totals = paper_tables.totals(cells)
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
        tables=(_a1(study, cells), _totals(totals)),
        data={"cells": plain(cells), "totals": plain(totals)},
    )


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
