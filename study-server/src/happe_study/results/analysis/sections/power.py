# SPDX-License-Identifier: GPL-2.0-or-later
"""Savings with intervals, the best possible, and the mixed model of power with period and carry-over."""

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean

import numpy as np

from happe_study.results.analysis import intervals, power_model, savings
from happe_study.results.analysis.design import (
    NOTHING,
    Terms,
    changing_places,
    compared,
    is_of_period,
    of_application,
    period_terms,
    require_complete,
)
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.savings import Saving
from happe_study.results.analysis.study import Study, attempt, fixed, p_value, percent, percent_interval, plain
from happe_study.results.analysis.tidy import Panel, Runs, watts

SAVINGS = (
    (
        "The paper's figure: 1 - ratio of mean powers, over the participants with both runs. For all applications: the "
        "mean of the applications' figures. The typical saving: 1 - the geometric mean of the participants' ratios, "
        "with its 95 % interval. The limits allow for skewness, and for missing pairs as extreme as any that was seen. "
        "With fewer than 36 people they also allow for a tenth of all people who save nothing, and of whom nobody took "
        "part. The intervals are not corrected for their number. Standardised: the mean log ratio in standard "
        "deviations between participants."
    ),
    (
        "The last column is the largest effect on a figure, in percentage points, that the meter's errors in both "
        "conditions (k = 2) could have. On one rig most of these errors cancel."
    ),
)
MODEL = (
    "log power = condition + application, with random parts for the participant, the participant in an application and "
    "the participant under a condition; REML, Student's t with Satterthwaite's degrees of freedom. A saving here is "
    "1 - ratio of geometric means. The model assumes the same spread of savings for all conditions."
)
PERIOD = (
    "The same model with two more terms: the run's place among the runs of its application (period), and the condition "
    "before it (carry-over). The table has these terms, results.json has all. It leaves out conditions that are always "
    "in the same place. The study may have too few participants to estimate these terms well."
)


def saving_section(study: Study) -> Section:
    """The improvement of each condition and application, and how close it is to the best possible."""
    refused: list[str] = []
    panel = study.runs.panel(watts)
    found = [
        saving
        for treatment in study.treatments
        for application in (*panel.applications, None)
        if (saving := attempt(refused, *_saving_of(study, panel, treatment, application)))
    ]
    return Section(
        "savings",
        f"Power saved over {study.reference}",
        Weight.ESTIMATED,
        text=SAVINGS,
        tables=((_savings(study, found), _bounds(study, found)) if found else ()),
        refused=tuple(refused),
        data={"savings": plain(found), "model": plain(study.model)},
    )


def _saving_of(study: Study, panel: Panel, treatment: str, application: str | None) -> tuple[str, Callable[[], Saving]]:
    """A saving's name, and the function that computes it."""
    make = partial(savings.of_application, panel, treatment, study.reference, application)
    return f"{treatment}, {study.name(application)}", make


def _savings(study: Study, found: Sequence[Saving]) -> Table:
    rows = tuple(
        (
            each.treatment,
            study.name(each.application),
            str(each.estimate.participants),
            str(each.pairs),
            str(each.missing),
            percent(each.paper),
            percent(each.estimate.value),
            percent_interval(each.estimate),
            fixed(each.standardised),
            percent(_meter(study, each), 1),
        )
        for each in found
    )
    columns = (
        "Condition", "Application", "n", "Pairs", "Missing", "Saved as in the paper, %",
        "Typical saving, %", "95 % interval", "Standardised", "Meter, +-",
    )  # fmt: skip
    return Table(f"Power saved over {study.reference}", columns, rows, study.meter, names=2)


def _meter(study: Study, saving: Saving) -> float:
    """The largest effect of the meter's expanded uncertainties on a saving: (1 - s) (U_t / t + U_o / o)."""
    relative = [
        _relative(study.runs.under([condition]), saving.application)
        for condition in (saving.treatment, saving.reference)
    ]
    return (1 - saving.paper) * sum(relative)


def _relative(runs: Runs, application: str | None) -> float:
    return fmean(
        run.uncertainty_w / run.mean_w
        for run in runs.rows
        if run.mean_w and run.uncertainty_w is not None and application in {None, run.application}
    )


def _bounds(study: Study, found: Sequence[Saving]) -> Table:
    rows = [
        (
            each.treatment,
            fixed(bound.utilisation_percent, 0),
            percent(bound.best),
            percent(each.paper),
            percent(bound.share, 1),
        )
        for each in found
        if each.application is None and each.treatment in (study.happe or study.treatments)
        for bound in savings.bounds(study.model, each.paper)
    ]
    notes = (
        (
            f"Of {study.model.machine} (measured {study.model.measured}): 1 - power at the lowest frequency / power at "
            "the highest, at the same utilisation. If you measured another machine, give the "
            "report that machine's model."
        ),
    )
    columns = ("Condition", "Utilisation, %", "Best possible, %", "Saved, %", "Part of the best, %")
    return Table("Distance to the best possible", columns, tuple(rows), notes)


def model_section(study: Study) -> Section:
    """The mixed model of power."""
    refused: list[str] = []
    fitted = attempt(refused, "model", lambda: _fit(study, study.runs.with_figure(watts)))
    return Section(
        "power-model",
        "Mixed model of power",
        Weight.ESTIMATED,
        text=(MODEL,),
        tables=_tables(study, fitted, "Effects on power", fitted.terms[1:]) if fitted else (),
        refused=tuple(refused),
        data=plain(fitted),
    )


def period_section(study: Study) -> Section:
    """The mixed model of power with terms for period and carry-over."""
    refused: list[str] = []
    fitted = attempt(refused, "model", lambda: _fit_with_period(study))
    terms = [term for term in fitted.terms if is_of_period(term.name)] if fitted else []
    return Section(
        "period",
        "Period and carry-over",
        Weight.EXPLORATORY,
        text=(PERIOD,),
        tables=_tables(study, fitted, "Effects of period and carry-over on power", terms) if fitted else (),
        refused=tuple(refused),
        data=plain(fitted),
    )


def _fit(study: Study, runs: Runs, more: Terms = NOTHING) -> power_model.Fit:
    if len(runs.participants) < intervals.FEWEST:
        raise Refusal(f"{len(runs.participants)} participants with power; a model needs at least {intervals.FEWEST}")
    return fitted(study.runs, runs, study.reference, more)


def fitted(every: Runs, runs: Runs, reference: str, more: Terms = NOTHING) -> power_model.Fit:
    """The mixed model of some of a study's runs, which have power. Raises Refusal, also if too many runs lack power."""
    require_complete(every.with_figure(watts), every)
    terms = compared(runs, reference).beside(of_application(runs.rows, runs.applications)).beside(more)
    return power_model.fit(
        [float(np.log(run.mean_w or np.nan)) for run in runs.rows],
        terms.columns,
        terms.names,
        [run.participant for run in runs.rows],
        {
            "application": [run.application for run in runs.rows],
            "condition": [run.condition for run in runs.rows],
        },
    )


def _fit_with_period(study: Study) -> power_model.Fit:
    runs = changing_places(study.runs.with_figure(watts))
    return _fit(study, runs, period_terms(runs))


def _tables(
    study: Study, fitted: power_model.Fit, caption: str, terms: Sequence[power_model.Term]
) -> tuple[Table, ...]:
    rows = tuple(
        (
            term.name,
            percent(1 - np.exp(term.estimate)),
            f"{percent(1 - np.exp(term.high))} to {percent(1 - np.exp(term.low))}",
            fixed(term.dof, 1),
            p_value(term.p),
        )
        for term in terms
    )
    spread = ", ".join(f"{name} {fixed(value, 4)}" for name, value in fitted.deviations.items())
    notes = (
        f"{fitted.runs} runs of {fitted.participants} participants. Standard deviations of log W: {spread}.",
        study.missing(fitted.runs),
        "Two-sided p, not corrected for their number. Above 0: power saved.",
    )
    return (Table(caption, ("Term", "Saved, %", "95 % interval", "d. f.", "p"), rows, notes),)
