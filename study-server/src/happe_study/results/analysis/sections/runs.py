# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs that count and their missing values, and the runs left out with the reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.study import plain

if TYPE_CHECKING:
    from happe_study.results.analysis.study import Study
    from happe_study.results.analysis.tidy import Run


def section(study: Study) -> Section:
    """The numbers of runs and of missing values."""
    export = study.export
    people = ", ".join(f"{count} {state}" for state, count in sorted(export.participants.items()))
    return Section(
        "runs",
        "Runs",
        Weight.DESCRIPTIVE,
        text=(
            (
                f"{len(study.runs.rows)} runs of {len(study.runs.participants)} participants count "
                f"(participants: {people}). {len(export.left_out)} runs are left out."
            ),
        ),
        tables=(_counts(study), _left_out(study)),
        data={
            "counting": len(study.runs.rows),
            "participants": dict(export.participants),
            "left_out": plain(list(export.left_out)),
        },
    )


def _counts(study: Study) -> Table:
    rows = []
    for condition in study.runs.conditions:
        runs = study.runs.under([condition]).rows
        rows.append((condition, str(len(runs)), *(str(count) for count in _missing(runs))))
    notes = ("A run without a value is excluded only from the statistics that need the value.",)
    columns = ("Condition", "Runs", "No power", "No rating", "No guess", "No presses")
    return Table("Runs that count, and their missing data", columns, tuple(rows), notes)


def _missing(runs: tuple[Run, ...]) -> list[int]:
    return [sum(getattr(run, name) is None for run in runs) for name in ("mean_w", "rating", "guess", "performance")]


def _left_out(study: Study) -> Table:
    rows = tuple((each.run, each.participant, each.condition, each.why) for each in study.export.left_out)
    return Table("Runs that are left out", ("Run", "Participant", "Condition", "Why"), rows, names=4)
