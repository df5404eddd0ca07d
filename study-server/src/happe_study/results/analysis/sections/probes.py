# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes of L-HAPPE runs: how often people notice that HAPPE tries a lower frequency by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_study.results.analysis.noticing import Kind, Noticed, counted, estimated, kinds
from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.study import attempt, p_value, percent, plain

if TYPE_CHECKING:
    from happe_study.results.analysis.study import Study

ABOUT = (
    'In L-HAPPE runs HAPPE now and then tries a lower frequency for a minute. A press of "faster" refuses it. A sealed '
    "seed made about half of these probes shams, which changed nothing. So the share of real probes with a press "
    "within 60 s, less that of sham ones, is the share that people notice. Regression with errors by participant; "
    "Student's t."
)


def has_probes(study: Study) -> bool:
    """Whether the study has runs with probes."""
    return "L-HAPPE" in study.runs.conditions


def section(study: Study) -> Section:
    """The share of probes that people notice."""
    refused: list[str] = []
    mine = {run.run for run in study.runs.rows}
    trials = [trial for trial in study.export.trials if trial.run in mine]
    counts = counted(trials)
    found = attempt(refused, "share noticed", lambda: estimated(counts))
    real, sham = kinds(counts)
    data = plain({"real": real, "sham": sham, "participants": len(counts), "trials": len(trials)}) | plain(found or {})
    tables = (_table(real, sham, len(counts), found),)
    return Section("probes", "Probes: what people notice", Weight.ESTIMATED, (ABOUT,), tables, (), tuple(refused), data)


def _table(real: Kind, sham: Kind, people: int, found: Noticed | None) -> Table:
    """The table of probes, with the estimate if there are enough of them."""
    rows: tuple[tuple[str, ...], ...] = tuple(
        (name, str(kind.probes), str(kind.pressed), percent(kind.share, 1), "", "")
        for name, kind in (("Real", real), ("Sham", sham))
    )
    if found:
        interval = f"{percent(found.low, 1)} to {percent(found.high, 1)}"
        rows = (*rows, ("Noticed: real less sham", "", "", percent(found.value, 1), interval, p_value(found.p)))
    notes = (f"{people} participants. Probes that the run's end or a break cut short within 60 s are left out.",)
    columns = ("Probes", "Number", "With a press", "Share, %", "95 % interval", "p")
    return Table("Presses of the performance key within 60 s of a probe", columns, rows, notes)
