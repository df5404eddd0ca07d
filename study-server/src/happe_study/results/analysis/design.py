# SPDX-License-Identifier: GPL-2.0-or-later
"""What models are fitted on: a column of 0 and 1 for each condition, application, place but the first of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import indicators

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_study.results.analysis.tidy import Floats, Run, Runs


MOST_MISSING = 0.05  # of a condition's runs, of those that a model is fitted to


class Terms(NamedTuple):
    """Columns of a design matrix, runs by terms, and the terms' names."""

    columns: Floats
    names: tuple[str, ...]

    def beside(self, other: Terms) -> Terms:
        """These and others; NOTHING may be one of them."""
        kept = [each.columns for each in (self, other) if each.names]
        return Terms(np.hstack(kept) if kept else self.columns, self.names + other.names)


NOTHING = Terms(np.empty((0, 0)), ())


def compared(runs: Runs, reference: str) -> Terms:
    """The conditions of runs, the reference as the base. Refusal if there is nothing to compare."""
    conditions = sorted(runs.conditions, key=lambda condition: condition != reference)
    if len(conditions) <= 1:
        raise Refusal("all runs were under one condition")
    return of_condition(runs.rows, conditions)


def require_complete(there: Runs, every: Runs) -> None:
    """Refusal of a model if more than a twentieth of a condition's runs have no figure: the reasons may be the result.

    Every participant should have each application that anybody had under the condition.
    """
    for condition in every.conditions:
        applications = {run.application for run in every.under([condition]).rows}
        wanted = len(every.participants) * len(applications)
        share = 1 - len(there.under([condition]).rows) / wanted
        if share > MOST_MISSING:
            raise Refusal(
                f"{share:.1%} of the runs under {condition} have no figure; above {MOST_MISSING:.0%} a model may show "
                "only why they are missing"
            )


def of_condition(runs: Sequence[Run], conditions: Sequence[str]) -> Terms:
    """Conditions, the first as the base."""
    return Terms(indicators([run.condition for run in runs], conditions), tuple(conditions[1:]))


def of_application(runs: Sequence[Run], applications: Sequence[str]) -> Terms:
    """Applications, the first as the base."""
    return Terms(indicators([run.application for run in runs], applications), tuple(applications[1:]))


def changing_places(runs: Runs) -> Runs:
    """The runs of conditions that are not always in one place. Refusal if the order was one for everybody."""
    places = {
        condition: {run.place for run in runs.rows if run.condition == condition} for condition in runs.conditions
    }
    kept = [condition for condition, found in places.items() if len(found) > 1]
    if len(kept) <= 1:
        raise Refusal("everybody had the conditions in the same order, so period and condition can't be separated")
    return runs.under(kept)


def period_terms(runs: Runs) -> Terms:
    """Columns for place and for the condition before: of the places that occur, the first is the base."""
    places = sorted({run.place for run in runs.rows})
    before = sorted({run.before for run in runs.rows if run.before in runs.conditions})
    columns = [
        indicators([str(run.place) for run in runs.rows], [str(place) for place in places]),
        indicators([run.before if run.before in before else "" for run in runs.rows], ["", *before]),
    ]
    # Carry-over is compared among the runs that had one before: with a place for each, one of them is the base.
    if all((run.before not in before) == (run.place == places[0]) for run in runs.rows):
        columns[1], before = columns[1][:, 1:], before[1:]
    names = [f"place {place}" for place in places[1:]] + [f"after {condition}" for condition in before]
    return Terms(np.hstack(columns), tuple(names))
