# SPDX-License-Identifier: GPL-2.0-or-later
"""A simulated study as plain data: its tables over all seeds, its first seed's runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CATEGORIES = ("rising", "threshold", "satisfied", "unsatisfied")
PRESS_COLUMNS = ("training_performance", "training_power", "operating_performance", "operating_power")


@dataclass(frozen=True)
class Compared:
    """A figure of the simulation, and the paper's with how far ours may be from it, where the paper prints one."""

    ours: float
    paper: float | None = None
    tolerance: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        return None if self.paper is None else self.ours - self.paper

    @property
    def strain(self) -> float:
        """The difference as a share of the tolerance; above 1 is too far. 0 if there is nothing to compare with."""
        if self.difference is None or self.tolerance is None:
            return 0.0
        return abs(self.difference) / self.tolerance


@dataclass(frozen=True)
class Cell:
    """One application under one condition: power in watts, ratings from 1 to 5, the rest in percent."""

    application: str
    condition: str
    power_mean: Compared
    power_sd: Compared
    rating_mean: Compared
    rating_sd: Compared
    saving: float | None
    oracle_share: float | None


@dataclass(frozen=True)
class Total:
    """A condition's saving against ondemand in percent, mean over the applications."""

    condition: str
    saving: Compared
    oracle_share: float | None


@dataclass(frozen=True)
class PressRow:
    """Key presses a minute, in the order of PRESS_COLUMNS; a burst is one press."""

    application: str
    rates: tuple[Compared, ...]


@dataclass(frozen=True)
class GroupRow:
    """A group's saving in percent over all HAPPE runs; ours is None if nobody belongs to it."""

    group: str
    ours: float | None
    paper: float


@dataclass(frozen=True)
class Run:
    """One participant (from 1) playing one application under one condition."""

    participant: int
    application: str
    condition: str
    category: str  # of CATEGORIES, for this application
    power_w: float
    utilisation: float  # of CPU 0, mean over the run, 0 to 1
    rating: int
    performance_presses: int
    power_presses: int
    seconds_at: tuple[float, ...]  # in each of the ladder's frequencies
    uafp_khz: tuple[int, ...]  # ten values at the end of the run; empty if HAPPE had no part in it


@dataclass(frozen=True)
class Study:
    """A study's tables over all its seeds, and the runs of its first seed."""

    folder: Path
    protocol: str
    provenance: str
    participants: int
    seeds: tuple[int, ...]
    run_seconds: float
    cells: tuple[Cell, ...]
    totals: tuple[Total, ...]
    presses: tuple[PressRow, ...]
    groups: tuple[GroupRow, ...]
    ladder_khz: tuple[int, ...]
    runs: dict[tuple[int, str, str], Run]  # by participant, application, condition

    @property
    def applications(self) -> list[str]:
        """Names, in the study's order."""
        return list(dict.fromkeys(cell.application for cell in self.cells))

    @property
    def conditions(self) -> list[str]:
        """Names, in the study's order."""
        return list(dict.fromkeys(cell.condition for cell in self.cells))

    def of(self, participant: int, condition: str) -> list[Run]:
        """Return a participant's runs under a condition, in the applications' order."""
        return [self.runs[participant, application, condition] for application in self.applications]


@dataclass(frozen=True)
class Named:
    """A figure that the paper prints, by its name."""

    name: str
    figure: Compared


def against_paper(study: Study) -> list[Named]:
    """Return all figures that the paper prints, the one that strains its tolerance most first."""
    everything = [
        Named(f"{cell.application}, {cell.condition}: {what}", figure)
        for cell in study.cells
        for what, figure in (
            ("mean power (W)", cell.power_mean),
            ("standard deviation of power (W)", cell.power_sd),
            ("mean rating", cell.rating_mean),
            ("standard deviation of ratings", cell.rating_sd),
        )
    ]
    everything += [Named(f"{total.condition}: overall saving (%)", total.saving) for total in study.totals]
    everything += [
        Named(f"{row.application}, {column.replace('_', ': ')} key (presses/min)", figure)
        for row in study.presses
        for column, figure in zip(PRESS_COLUMNS, row.rates, strict=True)
    ]
    return sorted(
        (named for named in everything if named.figure.paper is not None), key=lambda named: -named.figure.strain
    )
