# SPDX-License-Identifier: GPL-2.0-or-later
"""The tidy table with a row for each run, and arrays made from it. All statistics use them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from happe_contract.conditions import in_order
from happe_study.results.analysis.refusal import Refusal

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run that counts (or is excluded). A missing value is None; only statistics that need it leave the run out.

    `position` is the run's number among the participant's runs, from 1; `place` its number among those of the same
    application; `before` the condition of that application's previous run ("" for the first).
    `mean_w` is the whole machine's mean power in watts, `uncertainty_w` its expanded uncertainty (k = 2).
    `performance` and `power` are numbers of presses; a series with gaps under 1 s counts as one press.
    `doubted`: excluded when a condition could be known, so it counts except in a sensitivity analysis.
    """

    run: str
    participant: str
    application: str
    condition: str
    position: int
    place: int = 1
    before: str = ""
    seconds: float = 0.0
    mean_w: float | None = None
    uncertainty_w: float | None = None
    rating: int | None = None
    guess: str | None = None
    performance: int | None = None
    power: int | None = None
    doubted: bool = False


def watts(run: Run) -> float | None:
    """A run's mean power, W."""
    return run.mean_w


def satisfaction(run: Run) -> float | None:
    """A run's rating."""
    return None if run.rating is None else float(run.rating)


@dataclass(frozen=True)
class Panel:
    """A quantity by participant, application and condition; NaN where a run or its figure is missing."""

    values: Floats
    participants: tuple[str, ...]
    applications: tuple[str, ...]
    conditions: tuple[str, ...]

    def pairs(self, treatment: str, reference: str) -> tuple[Floats, Floats]:
        """Both conditions' values by participant and application; NaN in both arrays where one is missing."""
        one, other = self.of(treatment), self.of(reference)
        missing = np.isnan(one) | np.isnan(other)
        return np.where(missing, np.nan, one), np.where(missing, np.nan, other)

    def of_people(self, wanted: Bools) -> "Panel":
        """The panel of the participants for whom `wanted` is true."""
        kept = tuple(code for code, there in zip(self.participants, wanted, strict=True) if there)
        return Panel(self.values[wanted], kept, self.applications, self.conditions)

    def of(self, condition: str) -> Floats:
        """A condition's values by participant and application. Raises Refusal if no run had the condition."""
        if condition not in self.conditions:
            raise Refusal(f"no run was under {condition}")
        return self.values[:, :, self.conditions.index(condition)]


@dataclass(frozen=True)
class Runs:
    """The runs of a study that count, in the order of participants and positions."""

    rows: tuple[Run, ...]

    @cached_property
    def participants(self) -> tuple[str, ...]:
        """Every participant with a run, by code."""
        return tuple(sorted({run.participant for run in self.rows}))

    @cached_property
    def applications(self) -> tuple[str, ...]:
        """Every application, in the order of its first run."""
        return tuple(dict.fromkeys(run.application for run in self.rows))

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """Every condition: ondemand first, then as the paper lists them, then by name."""
        return tuple(sorted({run.condition for run in self.rows}, key=in_order))

    @property
    def always_in_one_place(self) -> list[str]:
        """The conditions that everybody had in the same place."""
        places = {name: {run.place for run in self.rows if run.condition == name} for name in self.conditions}
        return [name for name, found in places.items() if len(found) == 1]

    def panel(self, quantity: Callable[[Run], float | None]) -> Panel:
        """A quantity by participant, application and condition. Raises Refusal if two runs have the same of these."""
        axes = (self.participants, self.applications, self.conditions)
        values = np.full([len(axis) for axis in axes], np.nan)
        for run in self.rows:
            value = quantity(run)
            if value is None:
                continue
            place = tuple(
                a.index(k) for a, k in zip(axes, (run.participant, run.application, run.condition), strict=True)
            )
            if not np.isnan(values[place]):
                raise Refusal(f"{run.participant} has two runs of {run.application} under {run.condition}")
            values[place] = value
        return Panel(values, *axes)

    def with_figure(self, quantity: Callable[[Run], float | None]) -> "Runs":
        """The runs that have a value of this quantity."""
        return Runs(tuple(run for run in self.rows if quantity(run) is not None))

    def under(self, conditions: Sequence[str]) -> "Runs":
        """The runs under these conditions."""
        return Runs(tuple(run for run in self.rows if run.condition in conditions))


def indicators(values: Sequence[str], levels: Sequence[str]) -> Floats:
    """Treatment coding: a column of 0 and 1 for each level but the first."""
    return np.array([[float(value == level) for level in levels[1:]] for value in values]).reshape(len(values), -1)
