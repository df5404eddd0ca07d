# SPDX-License-Identifier: GPL-2.0-or-later
"""Diagnostics: proportional odds, residuals of power, and the influence of single participants."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from happe_study.results.analysis import diagnostics, figures, noninferiority, savings
from happe_study.results.analysis.design import compared, of_application, require_complete
from happe_study.results.analysis.diagnostics import FAR, AtCut, Influence, Residual
from happe_study.results.analysis.noninferiority import Wanted
from happe_study.results.analysis.report import Picture, Section, Table, Weight
from happe_study.results.analysis.study import Study, attempt, fixed, percent, plain
from happe_study.results.analysis.tidy import Panel, satisfaction, watts

MOST_FAR = 10
TEXT = (
    (
        "Proportional odds: the model of ratings assumes that a condition moves every point of the scale alike. The "
        "table has the log odds of a rating above each point, each fitted alone. They should agree within their errors."
    ),
    (
        "Residuals of log power: the difference between a run and its participant's means by condition and by "
        f"application, in standard deviations of the middle half. The table lists runs beyond {FAR:g}: find out why."
    ),
    "Influence: the answers without each participant in turn. A verdict that depends on one person is not safe.",
)


def section(study: Study) -> Section:
    """Proportional odds, residuals and influence."""
    refused: list[str] = []
    cuts = attempt(refused, "proportional odds", partial(_cuts, study)) or []
    left = attempt(refused, "residuals", lambda: diagnostics.residuals(study.runs.panel(watts))) or []
    moved = [found for name, make in _answers(study) if (found := attempt(refused, f"influence on {name}", make))]
    far = sorted((each for each in left if abs(each.deviations) > FAR), key=lambda each: -abs(each.deviations))
    return Section(
        "diagnostics",
        "Diagnostics",
        Weight.DESCRIPTIVE,
        text=TEXT,
        tables=(_cut_table(cuts), _far_table(study, far), _influence_table(moved)),
        pictures=_pictures(left),
        refused=tuple(refused),
        data={"cuts": plain(cuts), "far": plain(far), "influence": plain(moved)},
    )


def _cuts(study: Study) -> list[AtCut]:
    runs = study.runs.with_figure(satisfaction)
    require_complete(runs, study.runs)
    conditions = compared(runs, study.reference)
    terms = conditions.beside(of_application(runs.rows, runs.applications))
    ratings = [run.rating for run in runs.rows if run.rating is not None]
    people = [run.participant for run in runs.rows]
    return list(diagnostics.at_each_cut(ratings, terms, conditions.names, people))


def _answers(study: Study) -> Iterator[tuple[str, Callable[[], Influence]]]:
    power, rating = study.runs.panel(watts), study.runs.panel(satisfaction)
    for treatment in study.treatments:
        name = f"the saving of {treatment}"
        yield name, partial(diagnostics.influence, name, power, partial(_saving, treatment, study.reference))
    wanted = study.protocol.analysis if study.protocol else None
    if wanted:
        test = Wanted(wanted.margin, wanted.alpha, float(study.scale[1] - study.scale[0]))
        name = "the test of non-inferiority"
        answer = partial(_test, wanted.treatment, wanted.reference, test)
        yield name, partial(diagnostics.influence, name, rating, answer)


def _saving(treatment: str, reference: str, panel: Panel) -> tuple[float, str]:
    found = savings.of_application(panel, treatment, reference, None).estimate
    return found.value, "saves" if found.low > 0 else "takes more" if found.high < 0 else "open"


def _test(treatment: str, reference: str, wanted: Wanted, panel: Panel) -> tuple[float, str]:
    found = noninferiority.test(panel, treatment, reference, wanted)
    return found.difference, found.verdict


def _cut_table(cuts: Sequence[AtCut]) -> Table:
    points = sorted({each.above for each in cuts})
    by_place = {(each.condition, each.above): each for each in cuts}
    rows = tuple(
        (condition, *(_cell(by_place[condition, point]) for point in points))
        for condition in dict.fromkeys(each.condition for each in cuts)
    )
    columns = ("Condition", *(f"Above {point}" for point in points))
    refused = dict.fromkeys((each.above, each.refused) for each in cuts if each.refused)
    notes = tuple(f"Above {point}: {why}." for point, why in refused)
    return Table("Log odds of a rating above each point (standard error by participant)", columns, rows, notes)


def _cell(each: AtCut) -> str:
    return "\u2014" if each.estimate is None else f"{fixed(each.estimate)} ({fixed(each.error)})"


def _far_table(study: Study, far: Sequence[Residual]) -> Table:
    rows = tuple(
        (each.participant, study.name(each.application), each.condition, fixed(each.deviations, 1))
        for each in far[:MOST_FAR]
    )
    notes = (f"The {MOST_FAR} farthest of {len(far)}.",) if len(far) > MOST_FAR else ()
    columns = ("Participant", "Application", "Condition", "Standard deviations")
    return Table("Runs with far residuals of log power", columns, rows, notes, names=3)


def _influence_table(moved: Sequence[Influence]) -> Table:
    rows = tuple(
        (
            each.what,
            _shown(each, each.value),
            f"{_shown(each, each.least)} (without {each.without_least})",
            f"{_shown(each, each.most)} (without {each.without_most})",
            "yes" if each.turns else "no",
        )
        for each in moved
    )
    columns = ("Answer", "Value", "Least", "Most", "Does one person change the verdict?")
    return Table("Answers without each participant in turn", columns, rows)


def _shown(each: Influence, value: float) -> str:
    return f"{percent(value)} %" if each.what.startswith("the saving") else f"{fixed(value, 3)} points"


def _pictures(left: Sequence[Residual]) -> tuple[Picture, ...]:
    if not left:
        return ()
    ordered, expected = diagnostics.quantiles(np.array([each.deviations for each in left]))
    about = f"{len(left)} residuals from {fixed(float(ordered[0]))} to {fixed(float(ordered[-1]))} standard deviations."
    caption = "Residuals of log power beside the normal distribution"
    return (Picture("residuals", caption, about, figures.normal_plot(ordered, expected)),)
