# SPDX-License-Identifier: GPL-2.0-or-later
"""Ratings: the test of non-inferiority, the win probability, and the cumulative-link mixed model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from happe_study.results.analysis import noninferiority, ratings_clmm, wins
from happe_study.results.analysis.design import NOTHING, changing_places, compared, of_application, period_terms
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.study import attempt, fixed, p_value, percent, plain
from happe_study.results.analysis.tidy import satisfaction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_study.results.analysis.design import Terms
    from happe_study.results.analysis.noninferiority import NonInferiority
    from happe_study.results.analysis.study import Study
    from happe_study.results.analysis.tidy import Runs

NO_MARGIN = "the locked protocol fixes no margin (section [analysis]); one chosen now would prove nothing"
NONINFERIORITY = (
    "Each participant's mean difference of ratings over applications, tested one-sided by Student's t with Hall's "
    "correction for skewness. Non-inferior means: the lower limit is above minus the margin, which the protocol fixed. "
    "If the upper limit is below minus the margin, the condition is inferior by more than the margin."
)
WINS = (
    "How likely a person rates the condition above the reference in the same application, alike counted half; 50 % is "
    "no preference. Student's t interval over participants, p by flips of signs. Not corrected for their number."
)
CLMM = (
    "Proportional odds with a random intercept for each participant (25 nodes of adaptive Gauss-Hermite quadrature). "
    "An odds ratio above 1 is for higher ratings. That a condition moves all points of the scale, and all people, "
    "alike is assumed."
)


def noninferiority_section(study: Study) -> Section:
    """The one test that the study is for."""
    refused: list[str] = []
    found = attempt(refused, "test", lambda: _tested(study))
    return Section(
        "noninferiority",
        "Non-inferiority of ratings",
        Weight.CONFIRMATORY,
        text=(NONINFERIORITY,),
        tables=(_test_table(found),) if found else (),
        refused=tuple(refused),
        data=plain(found),
    )


def _tested(study: Study) -> NonInferiority:
    wanted = study.protocol.analysis if study.protocol else None
    if wanted is None:
        raise Refusal(NO_MARGIN)
    panel = study.runs.panel(satisfaction)
    return noninferiority.test(panel, wanted.treatment, wanted.reference, margin=wanted.margin, alpha=wanted.alpha)


def _test_table(found: NonInferiority) -> Table:
    rows = (
        ("Compared", f"{found.treatment} less {found.reference}"),
        ("Participants; pairs; missing pairs", f"{found.participants}; {found.pairs}; {found.missing}"),
        ("Mean difference, points", f"{fixed(found.difference, 3)} (standard error {fixed(found.error, 3)})"),
        (f"Lower limit, one-sided {percent(1 - found.alpha, 1)} %", fixed(found.low, 3)),
        ("Two-sided interval", f"{fixed(found.low, 3)} to {fixed(found.high, 3)}"),
        ("The same without the correction", f"{fixed(found.plain[0], 3)} to {fixed(found.plain[1], 3)}"),
        ("Margin, points", fixed(found.margin, 3)),
        ("p, one-sided", f"{p_value(found.p)} (alpha {fixed(found.alpha, 3)}, {found.dof} degrees of freedom)"),
        ("Non-inferior", outcome(found)),
    )
    return Table("The test", ("", ""), rows)


def outcome(found: NonInferiority) -> str:
    """What the test says, in words."""
    if found.inferior:
        return (
            f"no: {found.treatment} is rated worse than {found.reference} by more than the margin, as the whole "
            f"interval is below {fixed(-found.margin, 3)}"
        )
    return "shown" if found.shown else "not shown, which is not proof of the contrary"


def ratings_section(study: Study) -> Section:
    """Win probabilities and the model of ratings."""
    refused: list[str] = []
    panel = study.runs.panel(satisfaction)
    won = [
        found
        for treatment in study.treatments
        if (found := attempt(refused, f"wins of {treatment}", partial(wins.wins, panel, treatment, study.reference)))
    ]
    fitted = attempt(refused, "model", lambda: _clmm(study, study.runs.with_figure(satisfaction)))
    period = attempt(refused, "model with period and carry-over", lambda: _clmm_with_period(study))
    tables = [_wins_table(won, study.reference)] if won else []
    tables += [_clmm_table(study, *fitted)] if fitted else []
    tables += [_clmm_table(study, period, None)] if period else []
    return Section(
        "ratings",
        f"Ratings against {study.reference}",
        Weight.ESTIMATED,
        text=(WINS, CLMM),
        tables=tuple(tables),
        refused=tuple(refused),
        data={
            "wins": plain(won),
            "model": plain(fitted[0]) if fitted else None,
            "all_conditions": plain(fitted[1]) if fitted else None,
            "period": plain(period),
        },
    )


def _wins_table(won: Sequence[wins.Wins], reference: str) -> Table:
    rows = tuple(
        (
            each.treatment,
            str(each.estimate.participants),
            f"{each.higher} / {each.alike} / {each.lower}",
            str(each.missing),
            percent(each.estimate.value, 1),
            f"{percent(each.estimate.low, 1)} to {percent(each.estimate.high, 1)}",
            p_value(each.p),
        )
        for each in won
    )
    columns = ("Condition", "n", "Higher / alike / lower", "Missing", "Win probability, %", "95 % interval", "p")
    return Table(f"Rated above {reference}", columns, rows)


def _clmm(study: Study, runs: Runs, more: Terms = NOTHING) -> tuple[ratings_clmm.Fit, ratings_clmm.RatioTest]:
    """The model, and the likelihood ratio test of all conditions together."""
    others = of_application(runs.rows, runs.applications).beside(more)
    terms = compared(runs, study.reference).beside(others)
    ratings = [run.rating for run in runs.rows if run.rating is not None]
    people = [run.participant for run in runs.rows]
    full = ratings_clmm.fit(ratings, terms.columns, terms.names, people)
    smaller = ratings_clmm.fit(ratings, others.columns, others.names, people)
    return full, ratings_clmm.likelihood_ratio(full, smaller)


def _clmm_with_period(study: Study) -> ratings_clmm.Fit:
    runs = changing_places(study.runs.with_figure(satisfaction))
    return _clmm(study, runs, period_terms(runs))[0]


def _clmm_table(study: Study, fitted: ratings_clmm.Fit, together: ratings_clmm.RatioTest | None) -> Table:
    rows = tuple(
        (
            each.name,
            fixed(each.estimate, 3),
            fixed(each.error, 3),
            fixed(float(np.exp(each.estimate)), 2),
            f"{fixed(float(np.exp(each.low)), 2)} to {fixed(float(np.exp(each.high)), 2)}",
            p_value(each.p),
        )
        for each in fitted.effects
    )
    notes = [
        (
            f"{fitted.ratings} ratings of {fitted.participants} participants; standard deviation of their intercepts "
            f"{fixed(fitted.sigma, 3)}; log likelihood {fixed(fitted.log_likelihood, 2)}."
        ),
        study.missing(fitted.ratings),
        "Two-sided Wald p, not corrected for their number.",
    ]
    if together:
        notes.append(
            f"All conditions together: chi-squared {fixed(together.statistic, 2)} on {together.dof} d. f., "
            f"p {p_value(together.p)}."
        )
    title = "Cumulative-link mixed model" + ("" if together else " with period and carry-over (exploratory)")
    return Table(title, ("Term", "Log odds", "s. e.", "Odds ratio", "95 % interval", "p"), rows, tuple(notes))
