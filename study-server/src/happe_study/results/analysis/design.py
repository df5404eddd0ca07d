# SPDX-License-Identifier: GPL-2.0-or-later
"""Design matrices of models: a column of 0 and 1 for each condition, application and place, except the base of each."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.tidy import Floats, Run, Runs, indicators

MOST_MISSING = 0.05  # largest share of a condition's runs that a model may lack


class Terms(NamedTuple):
    """Columns of a design matrix (runs x terms), and the terms' names."""

    columns: Floats
    names: tuple[str, ...]

    def beside(self, other: "Terms") -> "Terms":
        """These terms and the others together. Either may be NOTHING."""
        kept = [each.columns for each in (self, other) if each.names]
        return Terms(np.hstack(kept) if kept else self.columns, self.names + other.names)


NOTHING = Terms(np.empty((0, 0)), ())


def compared(runs: Runs, reference: str) -> Terms:
    """Terms for the runs' conditions, with the reference as the base. Raises Refusal if there is only one condition."""
    conditions = sorted(runs.conditions, key=lambda condition: condition != reference)
    if len(conditions) <= 1:
        raise Refusal("all runs were under one condition")
    return of_condition(runs.rows, conditions)


def require_complete(there: Runs, every: Runs) -> None:
    """Raise Refusal if more than a twentieth of a condition's runs lack a value: their reasons could cause the result.

    The expected runs are those of every participant with each application that anybody had under the condition.
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
    """Terms for conditions, with the first as the base."""
    return Terms(indicators([run.condition for run in runs], conditions), tuple(conditions[1:]))


def of_application(runs: Sequence[Run], applications: Sequence[str]) -> Terms:
    """Terms for applications, with the first as the base."""
    return Terms(indicators([run.application for run in runs], applications), tuple(applications[1:]))


def changing_places(runs: Runs) -> Runs:
    """The runs of conditions that occur in different places. Raises Refusal if everybody had the same order."""
    places = {
        condition: {run.place for run in runs.rows if run.condition == condition} for condition in runs.conditions
    }
    kept = [condition for condition, found in places.items() if len(found) > 1]
    if len(kept) <= 1:
        raise Refusal("everybody had the conditions in the same order, so period and condition can't be separated")
    return runs.under(kept)


def period_terms(runs: Runs) -> Terms:
    """Terms for the place, with the first occurring place as the base, and for the condition before."""
    places = sorted({run.place for run in runs.rows})
    before = sorted({run.before for run in runs.rows if run.before in runs.conditions})
    columns = [
        indicators([str(run.place) for run in runs.rows], [str(place) for place in places]),
        indicators([run.before if run.before in before else "" for run in runs.rows], ["", *before]),
    ]
    # If exactly the first place has no run before, its column says so already. Then a condition before is the base.
    if all((run.before not in before) == (run.place == places[0]) for run in runs.rows):
        columns[1], before = columns[1][:, 1:], before[1:]
    names = [f"place {place}" for place in places[1:]] + [f"after {condition}" for condition in before]
    return Terms(np.hstack(columns), tuple(names))


def is_of_period(name: str) -> bool:
    """Whether a term's name is one of those that `period_terms` gives."""
    return name.startswith(("place ", "after "))
