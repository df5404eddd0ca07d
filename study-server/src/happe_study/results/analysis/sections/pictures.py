# SPDX-License-Identifier: GPL-2.0-or-later
"""The paper's figures, from a study. Fixed rules choose the participants shown, whatever their results are."""

from collections.abc import Iterable, Mapping
from functools import partial

import numpy as np

from happe_contract import conditions as names
from happe_study.results.analysis import figures
from happe_study.results.analysis.figures import Drawn
from happe_study.results.analysis.reading import Sample
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.report import Picture, Section, Weight
from happe_study.results.analysis.study import Study, attempt, plain
from happe_study.results.analysis.tidy import Floats, Panel, satisfaction, watts

MOST_ROWS = 12


def section(study: Study) -> Section:
    """Figures A.1, A.4 and A.5, as far as there are data for them."""
    refused: list[str] = []
    made = [
        attempt(refused, name, partial(draw, study))
        for name, draw in (
            ("Figure A.1", _levels),
            ("Figure A.4", _users),
            ("Figure A.5", _courses),
        )
    ]
    drawn = tuple(each[0] for each in made if each)
    data = {each[0].key: each[1] for each in made if each}
    return Section("figures", "Figures", Weight.PAPER, (), (), drawn, tuple(refused), data)


def _levels(study: Study) -> tuple[Picture, object]:
    levels = [condition for condition in study.runs.conditions if condition.startswith(names.FIXED)]
    if not levels:
        raise Refusal("no run was at a fixed frequency")
    shown = study.runs.participants[:MOST_ROWS]
    rating = study.runs.panel(satisfaction)
    data = {person: _person(study, rating, person, levels) for person in shown}
    many = len(study.runs.applications)
    rest = len(study.runs.participants) - len(shown)
    caption = "Figure A.1: ratings and CPU utilisation at each frequency level"
    caption += f", of the first {len(shown)} participants by code" if rest else ""
    about = f"Ratings of {len(shown)} participants for {many} applications at {len(levels)} frequency levels."
    return Picture("figure-a1", caption, about, figures.satisfaction_by_level(data, study.scale)), data


def _person(study: Study, rating: Panel, person: str, levels: list[str]) -> dict[str, Drawn]:
    row = rating.participants.index(person)
    runs = {(run.application, run.condition): run.run for run in study.runs.rows if run.participant == person}
    found: dict[str, Drawn] = {}
    for column, application in enumerate(rating.applications):
        ratings = [rating.of(level)[row, column] for level in levels]
        busy = [_busy(study.export.samples, runs.get((application, level))) for level in levels]
        found[study.name(application)] = {"ratings": _numbers(ratings), "busy_percent": _numbers(busy)}
    return found


def _busy(samples: Mapping[str, tuple[Sample, ...]], run: str | None) -> float:
    periods = samples.get(run or "", ())
    return float(np.mean([each.busy_percent for each in periods])) if periods else float("nan")


def _users(study: Study) -> tuple[Picture, object]:
    treatment = study.protocol.analysis.treatment if study.protocol and study.protocol.analysis else names.O_HAPPE
    power, rating = study.runs.panel(watts), study.runs.panel(satisfaction)
    if np.isnan(power.values).all():
        raise Refusal("no run has power")
    means = [_means(power, rating, condition) for condition in (study.reference, treatment)]
    about = (
        f"Mean power and mean rating of {len(power.participants)} participants under {study.reference} and {treatment}."
    )
    caption = f"Figure A.4: each participant under {study.reference} and {treatment}; mean and s. d. over applications"
    drawn = figures.by_user(power.participants, means, study.scale)
    return Picture("figure-a4", caption, about, drawn), {"participants": plain(power.participants), "conditions": means}


def _means(power: Panel, rating: Panel, condition: str) -> Drawn:
    """Each participant's means over applications under a condition, and sample standard deviations."""
    watts_here, ratings = _row_figures(power.of(condition)), _row_figures(rating.of(condition))
    columns = zip(("power_mean_w", "power_sd_w", "rating_mean", "rating_sd"), (*watts_here, *ratings), strict=True)
    return {"condition": condition} | {name: _numbers(values) for name, values in columns}


def _row_figures(values: Floats) -> tuple[Floats, Floats]:
    """Mean and sample standard deviation of each row, without missing values; NaN if there are too few."""
    there = np.ma.masked_invalid(values)
    return there.mean(axis=1).filled(np.nan), there.std(axis=1, ddof=1).filled(np.nan)


def _courses(study: Study) -> tuple[Picture, object]:
    """Figure A.5 of the first participant by code with records of two applications under ondemand and O-HAPPE."""
    applications, conditions = study.runs.applications[:2], (names.ONDEMAND, names.O_HAPPE)
    by_place = {(run.participant, run.application, run.condition): run.run for run in study.runs.rows}
    wanted = [(application, condition) for application in applications for condition in conditions]
    for person in study.runs.participants:
        samples = [study.export.samples.get(by_place.get((person, *place), ""), ()) for place in wanted]
        courses = [
            _course(study.name(application), condition, each)
            for (application, condition), each in zip(wanted, samples, strict=True)
        ]
        if all(course["khz"] for course in courses):
            caption = (
                f"Figure A.5: frequency over time of participant {person}, the first by code with records of the first "
                "two applications under both conditions"
            )
            drawn = figures.frequency_over_time(courses)
            return Picture("figure-a5", caption, f"{len(courses)} runs of participant {person}.", drawn), courses
    raise Refusal("no participant has records of two applications under ondemand and O-HAPPE")


def _course(application: str, condition: str, samples: tuple[Sample, ...]) -> Drawn:
    """A run's frequency over time, at the ends of its sample periods."""
    known = [(each.second, each.khz) for each in samples if each.khz is not None]
    seconds, khz = zip(*known, strict=True) if known else ((), ())
    return {"application": application, "condition": condition, "seconds": _numbers(seconds), "khz": _numbers(khz)}


def _numbers(values: Iterable[float]) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 6) for value in values]
