# SPDX-License-Identifier: GPL-2.0-or-later
"""The first page: the study's answers from the other sections, and faults in its data that should stop a reader."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import stats

from happe_study.results.analysis.groups import holm
from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.sections.exclusions import REPORTED, said
from happe_study.results.analysis.study import Study, fixed, listed, percent
from happe_study.results.analysis.tidy import Run, satisfaction, watts

Sections = Mapping[str, Any]  # each section's data, by key


MOST_MISSING = 0.25  # largest missing share of an arm
HATED = 1.5  # least difference in points from the median participant
FAR = 3.0  # least difference in standard deviations, estimated from the median absolute deviation
FEWEST_HATERS = 2
LEVEL = 0.05


def section(study: Study, data: Sections) -> Section:
    """The answer in a few rows."""
    rows = (*_saved(data), *_satisfied(data), *_blind(data), *_sure(study, data), *_excluded(study, data))
    return Section(
        "answer",
        "The answer",
        Weight.CONFIRMATORY if data["noninferiority"] else Weight.ESTIMATED,
        tables=(Table("What the study says", ("Question", "Answer", "95 % interval"), rows, names=3),),
        refused=() if rows else ("the data support none of these answers; the sections below give the reasons",),
        data={"rows": [list(row) for row in rows]},
    )


def _part(data: Sections, key: str, name: str) -> Any:  # noqa: ANN401 - JSON
    """A part of a section's data; None if the section has none."""
    return (data.get(key) or {}).get(name)


def _totals(data: Sections) -> list[Any]:
    return [each for each in _part(data, "savings", "savings") or () if each["application"] is None]


def _saved(data: Sections) -> Iterator[tuple[str, str, str]]:
    for each in _totals(data):
        found = each["estimate"]
        yield (
            f"Power that {each['treatment']} saves over {each['reference']}",
            f"{percent(found['value'])} % (typical); {percent(each['paper'])} % as in the paper",
            f"{percent(found['low'])} to {percent(found['high'])} %",
        )


def _satisfied(data: Sections) -> Iterator[tuple[str, str, str]]:
    found = data["noninferiority"]
    if found:
        level = "" if found["alpha"] == LEVEL / 2 else f" ({percent(1 - 2 * found['alpha'], 1)} %)"
        yield (
            f"Is {found['treatment']} non-inferior to {found['reference']} in ratings?",
            f"{found['verdict']}: {fixed(found['difference'], 3)} points, margin {fixed(found['margin'], 3)}",
            f"{fixed(found['low'], 3)} to {fixed(found['high'], 3)} points{level}",
        )


def _blind(data: Sections) -> Iterator[tuple[str, str, str]]:
    for each in data["blinding"] or ():
        if each["name"] == "James":
            continue
        said = "guessed better than chance" if each["low"] > 0 else "guessed no better than chance"
        yield (
            f"Was it blind? {each['name']}",
            f"{said}: {fixed(each['value'])} of 1",
            f"{fixed(each['low'])} to {fixed(each['high'])}",
        )


def _sure(study: Study, data: Sections) -> Iterator[tuple[str, str, str]]:
    """The strength of the answers: people, missing values, and whether leaving out one person changes an answer."""
    people, runs = len(study.runs.participants), len(study.runs.rows)
    wanted = runs + len(study.export.left_out)
    rated = sum(run.rating is not None for run in study.runs.rows)
    said = f"{people} participants; {percent(rated / wanted, 1)} % of the runs have a rating"
    if study.measures:
        said += f", {percent(sum(run.mean_w is not None for run in study.runs.rows) / wanted, 1)} % have power"
    yield "How sure is it?", said, _stable(_part(data, "diagnostics", "influence"))


def _excluded(study: Study, data: Sections) -> Iterator[tuple[str, str, str]]:
    """What was excluded, and the verdict where it differs with it. The section on exclusions has all answers."""
    if found := said(study):
        answers = _part(data, "exclusions", "answers") or ()
        verdicts = {name: answer for name, question, answer, _ in answers if question.endswith("?")}
        turned = [f"{answer} ({name})" for name, answer in verdicts.items() if answer != verdicts.get(REPORTED)]
        same = "; the verdict is the same with and without" if len(verdicts) > 1 else ""
        yield "What was excluded?", f"{found}{'; the verdict changes: ' + listed(turned) if turned else same}", ""


def _stable(influence: list[Any] | None) -> str:
    if not influence:
        return "nobody can test this by leaving out one person"
    turned = [each["what"] for each in influence if each["turns"]]
    return f"one person decides: {listed(turned)}" if turned else "no single person decides an answer"


def faults(study: Study, data: Sections) -> list[str]:
    """The faults in the data that should stop a reader, in words."""
    return [*_missing_arms(study), *_swapped(data), *_minorities(study), *_periods(data)]


def _missing_arms(study: Study) -> Iterator[str]:
    quantities: dict[str, Callable[[Run], float | None]] = {"a rating": satisfaction}
    if study.measures:
        quantities["measured power"] = watts
    people = len(study.runs.participants)
    for condition in study.runs.conditions:
        runs = study.runs.under([condition]).rows
        wanted = people * len({run.application for run in runs})
        for what, quantity in quantities.items():
            there = sum(quantity(run) is not None for run in runs)
            if there < (1 - MOST_MISSING) * wanted:
                yield f"Fault: an arm is missing: {there} of {wanted} runs under {condition} have {what}."


def _swapped(data: Sections) -> Iterator[str]:
    for each in _totals(data):
        if each["treatment"].endswith("-HAPPE") and each["estimate"]["high"] < 0:
            yield (
                f"Fault: {each['treatment']} takes {percent(-each['estimate']['value'], 1)} % more power than "
                f"{each['reference']}. Check whether somebody swapped the arms."
            )


def _minorities(study: Study) -> Iterator[str]:
    panel = study.runs.panel(satisfaction)
    for condition in study.happe if study.reference in panel.conditions else ():
        gaps = panel.of(condition) - panel.of(study.reference)
        kept = np.asarray((~np.isnan(gaps)).any(axis=1))
        if not kept.any():
            continue
        means = np.nanmean(gaps[kept], axis=1)
        people = [code for code, one in zip(panel.participants, kept.tolist(), strict=True) if one]
        middle = np.median(means)
        apart = max(HATED, FAR * float(stats.median_abs_deviation(means, scale="normal")))
        low = [code for code, mean in zip(people, means, strict=True) if mean <= middle - apart]
        if len(low) >= FEWEST_HATERS:
            yield (
                f"A minority dislikes {condition}: {len(low)} of {len(people)} participants rate it, against "
                f"{study.reference}, at least {fixed(apart, 1)} points lower than the median participant: "
                f"{listed(low)}."
            )


def _periods(data: Sections) -> Iterator[str]:
    ratings = _part(data, "ratings", "period") or {}
    for what, effects in (("power", _part(data, "period", "terms")), ("ratings", ratings.get("effects"))):
        terms = [each for each in effects or () if each["name"].startswith("place ")]
        corrected = holm([each["p"] for each in terms])
        changed = [each["name"] for each, p in zip(terms, corrected, strict=True) if p < LEVEL]
        if changed:
            yield f"A period effect: the place of a run changes {what} ({listed(changed)}); see the section on it."
