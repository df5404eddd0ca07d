# SPDX-License-Identifier: GPL-2.0-or-later
"""The specification curve: savings and differences of ratings under every choice."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from happe_study.results.analysis import diagnostics, figures, specifications
from happe_study.results.analysis.diagnostics import FAR
from happe_study.results.analysis.intervals import LEVEL
from happe_study.results.analysis.noninferiority import Wanted
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.report import Picture, Section, Table, Weight
from happe_study.results.analysis.study import attempt, fixed, percent, plain
from happe_study.results.analysis.tidy import satisfaction, watts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_study.results.analysis.specifications import Specification
    from happe_study.results.analysis.study import Study
    from happe_study.results.analysis.tidy import Panel

TRAINING = "T-HAPPE"
TEXT = (
    "This section computes each answer under every choice that an analyst could have made: conditions of HAPPE with or "
    "without T-HAPPE, logarithms or ratios of power, with or without runs whose residual is far, all pairs or only "
    "participants with every pair. If a choice changes the sign or the verdict, the answer depends on that choice."
)


def section(study: Study) -> Section:
    """The curves of savings and of differences of ratings."""
    refused: list[str] = []
    saved = attempt(refused, "savings", lambda: _savings(study)) or []
    rated = attempt(refused, "ratings", lambda: _ratings(study)) or []
    tables = [_table("Savings by specification, %", saved, 100)] if saved else []
    tables += [_table("Differences of ratings by specification, points", rated, 1)] if rated else []
    return Section(
        "specifications",
        "Specification curve",
        Weight.EXPLORATORY,
        text=(TEXT,),
        tables=tuple(tables),
        pictures=(_picture(saved),) if saved else (),
        refused=tuple(refused),
        data={"savings": plain(saved), "ratings": plain(rated)},
    )


def _conditions(study: Study) -> dict[str, tuple[str, ...]]:
    """The sets of conditions that can stand for HAPPE, by name. Equal sets occur once."""
    wanted = study.protocol.analysis.treatment if study.protocol and study.protocol.analysis else "O-HAPPE"
    without = tuple(condition for condition in study.happe if condition != TRAINING)
    named = {wanted: (wanted,) if wanted in study.treatments else (), "all HAPPE": study.happe}
    if TRAINING in study.happe:
        named["all without T-HAPPE"] = without
    found: dict[tuple[str, ...], str] = {}
    for name, conditions in named.items():
        if conditions:
            found.setdefault(conditions, name)
    if not found:
        raise Refusal("HAPPE governed no run")
    return {name: conditions for conditions, name in found.items()}


def _savings(study: Study) -> list[Specification]:
    power = study.runs.panel(watts)
    kept = _without_far(power)
    found = list(specifications.of_savings(power, kept, _conditions(study), study.reference))
    if not found:
        raise Refusal("no specification has enough pairs")
    return found


def _without_far(power: Panel) -> Panel:
    values = power.values.copy()
    for each in diagnostics.residuals(power):
        if abs(each.deviations) > FAR:
            place = (
                power.participants.index(each.participant),
                power.applications.index(each.application),
                power.conditions.index(each.condition),
            )
            values[place] = np.nan
    return replace(power, values=values)


def _ratings(study: Study) -> list[Specification]:
    wanted = study.protocol.analysis if study.protocol else None
    width = float(study.scale[1] - study.scale[0])
    test = Wanted(wanted.margin if wanted else width, wanted.alpha if wanted else (1 - LEVEL) / 2, width)
    rating = study.runs.panel(satisfaction)
    found = list(specifications.of_ratings(rating, _conditions(study), study.reference, test.limits))
    if not found:
        raise Refusal("no specification has enough pairs")
    return found


def _table(caption: str, found: Sequence[Specification], times: float) -> Table:
    rows = tuple(
        (", ".join(each.choices), fixed(times * each.value), f"{fixed(times * each.low)} to {fixed(times * each.high)}")
        for each in sorted(found, key=lambda each: each.value)
    )
    return Table(caption, ("Specification", "Value", "Interval"), rows)


def _picture(found: Sequence[Specification]) -> Picture:
    ordered = sorted(found, key=lambda each: each.value)
    drawn = figures.curve(
        [figures.Interval(", ".join(e.choices), 100 * e.value, 100 * e.low, 100 * e.high) for e in ordered]
    )
    about = f"{len(found)} specifications, from {percent(ordered[0].value)} to {percent(ordered[-1].value)} %."
    return Picture("specifications", "Savings under every specification, least first", about, drawn)
