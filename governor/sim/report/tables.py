# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's tables as the page prints them: every figure beside the paper's, with what is out of tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from study_data import against_paper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from study_data import Compared, Named, Study

NOTHING = "\u2013"
MINUS = "\u2212"
GROUPS = {"EECS": "EECS majors", "other": "other majors"}  # what stands in study.json, where it needs a word more


@dataclass(frozen=True)
class Shown:
    """A compared figure as text; `outside` says by how much it may differ if it differs by more, else it is empty."""

    ours: str
    paper: str
    difference: str
    outside: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row of compared figures, then of plain ones."""

    name: str
    figures: tuple[Shown, ...]
    plain: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outside:
    """A figure that is further from the paper than its tolerance."""

    name: str
    ours: str
    paper: str
    tolerance: str
    share: str  # of the tolerance


@dataclass(frozen=True)
class Verdict:
    """How near the whole study is to the paper. `worst` is empty if there is nothing to compare."""

    compared: int
    within: int
    outside: tuple[Outside, ...]
    worst: str


def fixed(value: float | None, digits: int = 2) -> str:
    """Return a number with a true minus sign and without a negative zero."""
    if value is None:
        return NOTHING
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text.replace("-", MINUS)


def signed(value: float | None, digits: int = 2) -> str:
    """Return a difference, with its sign unless it rounds to zero."""
    text = fixed(value, digits)
    return text if value is None or value <= 0 or not text.strip("0.") else "+" + text


def percent(value: float | None, digits: int = 1) -> str:
    """Return a share in percent."""
    return NOTHING if value is None else f"{fixed(value, digits)} %"


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def shown(figure: Compared) -> Shown:
    """Return a compared figure as text."""
    outside = f"±{fixed(figure.tolerance)}" if figure.strain > 1 else ""
    return Shown(fixed(figure.ours), fixed(figure.paper), signed(figure.difference), outside)


def table_a1(study: Study) -> list[tuple[str, list[TableRow]]]:
    """Return Table A.1: per application its rows, one for each condition.

    The paper's saving is computed from its mean powers, so that its last digit may differ from the one printed there.
    """
    paper = {(cell.application, cell.condition): cell.power_mean.paper for cell in study.cells}
    groups: dict[str, list[TableRow]] = {}
    for cell in study.cells:
        power, ondemand = cell.power_mean.paper, paper.get((cell.application, "ondemand"))
        saving = 100 * (1 - power / ondemand) if power is not None and ondemand else None
        difference = None if saving is None or cell.saving is None else cell.saving - saving
        beside = Shown(fixed(cell.saving), fixed(saving), signed(difference))
        figures = (cell.power_mean, cell.power_sd, cell.rating_mean, cell.rating_sd)
        row = TableRow(cell.condition, (*map(shown, figures), beside), (percent(cell.oracle_share),))
        groups.setdefault(cell.application, []).append(row)
    return list(groups.items())


def table_totals(study: Study) -> list[TableRow]:
    """Return each condition's overall saving with its share of the oracle's."""
    return [TableRow(total.condition, (shown(total.saving),), (percent(total.oracle_share),)) for total in study.totals]


def table_a3(study: Study) -> list[TableRow]:
    """Return Table A.3: key presses a minute."""
    return [TableRow(row.application, tuple(map(shown, row.rates))) for row in study.presses]


def table_groups(study: Study) -> list[TableRow]:
    """Return section A.5.6: savings by group."""
    rows = []
    for group in study.groups:
        difference = None if group.ours is None else group.ours - group.paper
        name = GROUPS.get(group.group, group.group)
        rows.append(TableRow(name, (Shown(fixed(group.ours), fixed(group.paper), signed(difference)),)))
    return rows


def verdict(study: Study) -> Verdict:
    """Compare every figure that the paper prints, the one that strains its tolerance most first."""
    figures = against_paper(study)
    outside = tuple(_outside(named) for named in figures if named.figure.strain > 1)
    worst = ""
    if figures:
        first = _outside(figures[0])
        worst = (
            f"{first.name}: {first.ours}, in the paper {first.paper}; the difference is {first.share} of the tolerance "
            f"of {first.tolerance}"
        )
    return Verdict(compared=len(figures), within=len(figures) - len(outside), outside=outside, worst=worst)


def mean_ratings(study: Study) -> dict[str, str]:
    """Return each condition's rating, mean over the applications."""
    return {
        condition: fixed(fmean(cell.rating_mean.ours for cell in study.cells if cell.condition == condition))
        for condition in study.conditions
    }


def _outside(named: Named) -> Outside:
    figure = named.figure
    return Outside(
        name=named.name,
        ours=fixed(figure.ours),
        paper=fixed(figure.paper),
        tolerance=fixed(figure.tolerance),
        share=percent(100 * figure.strain, 0),
    )
