# SPDX-License-Identifier: GPL-2.0-or-later
"""Ratings: the test of non-inferiority, and the cumulative-link mixed model."""

import numpy as np

from happe_study.results.analysis import noninferiority, ratings_clmm
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
from happe_study.results.analysis.noninferiority import NonInferiority, Verdict, Wanted
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.analysis.report import Section, Table, Weight
from happe_study.results.analysis.study import Study, attempt, fixed, p_value, percent, plain
from happe_study.results.analysis.tidy import Runs, satisfaction

NO_MARGIN = "the locked protocol fixes no margin (section [analysis]); a margin chosen now would prove nothing"
NONINFERIORITY = (
    (
        "Each participant's mean difference of ratings over applications. Non-inferior: the lower limit is above minus "
        "the margin, which the protocol fixed. Inferior: the upper limit is below it. Inconclusive: neither."
    ),
    (
        "The limits are Student's t's, or those after Hall's correction for skewness where they are wider. They allow "
        "for missing pairs as bad, or as good, as any that was seen. With fewer than 36 people at an alpha of 0.025 "
        "they also allow for a tenth of all people who rate the condition a whole margin lower, and of whom nobody "
        "took part."
    ),
)
CLMM = (
    "Proportional odds with a random intercept for each participant (41 nodes of adaptive Gauss-Hermite quadrature). "
    "An odds ratio above 1: higher ratings. The model assumes that a condition moves all points of the scale alike. "
    "People may like a condition more or less: errors are by participant (jackknife), with Student's t."
)


def noninferiority_section(study: Study) -> Section:
    """The study's confirmatory test."""
    refused: list[str] = []
    found = attempt(refused, "test", lambda: tested(study))
    return Section(
        "noninferiority",
        "Non-inferiority of ratings",
        Weight.CONFIRMATORY,
        text=NONINFERIORITY,
        tables=(_test_table(found), _sets_table(found)) if found else (),
        refused=tuple(refused),
        data=plain(found),
    )


def tested(study: Study) -> NonInferiority:
    """The test of non-inferiority. Raises Refusal."""
    wanted = study.protocol.analysis if study.protocol else None
    if wanted is None:
        raise Refusal(NO_MARGIN)
    panel, (lowest, highest) = study.runs.panel(satisfaction), study.scale
    test = Wanted(wanted.margin, wanted.alpha, float(highest - lowest))
    return noninferiority.test(panel, wanted.treatment, wanted.reference, test)


def _test_table(found: NonInferiority) -> Table:
    rows = (
        ("Compared", f"{found.treatment} less {found.reference}"),
        ("Participants; pairs; missing pairs", f"{found.participants}; {found.pairs}; {found.missing}"),
        ("Mean difference, points", f"{fixed(found.difference, 3)} (standard error {fixed(found.error, 3)})"),
        ("The same, standardised", f"{fixed(found.standardised)} standard deviations between participants"),
        (f"Lower limit, one-sided {percent(1 - found.alpha, 1)} %", fixed(found.low, 3)),
        ("Two-sided interval", f"{fixed(found.low, 3)} to {fixed(found.high, 3)}"),
        ("Margin, points", fixed(found.margin, 3)),
        ("p, one-sided", f"{p_value(found.p)} (alpha {fixed(found.alpha, 3)})"),
        ("Verdict", outcome(found)),
    )
    return Table("The test", ("", ""), rows, found.why)


def outcome(found: NonInferiority) -> str:
    """The test's verdict in words."""
    said = {
        Verdict.NON_INFERIOR: "the whole interval is above",
        Verdict.INFERIOR: "the whole interval is below",
        Verdict.INCONCLUSIVE: "the interval contains",
    }
    return f"{found.verdict}: {said[found.verdict]} {fixed(-found.margin, 3)}"


def _sets_table(found: NonInferiority) -> Table:
    rows = tuple(
        (
            each.name,
            str(each.participants),
            str(each.pairs),
            fixed(each.difference, 3),
            f"{fixed(each.low, 3)} to {fixed(each.high, 3)}",
            each.verdict,
        )
        for each in found.sets
    )
    tipping = (
        ()
        if found.tipping is None
        else (
            f"Tipping point: non-inferior until missing pairs are {fixed(found.tipping)} points worse than those seen.",
        )
    )
    return Table(
        "The test on other sets of the data", ("Set", "n", "Pairs", "Difference", "Interval", "Verdict"), rows, tipping
    )


def ratings_section(study: Study) -> Section:
    """The model of ratings."""
    refused: list[str] = []
    fitted = attempt(refused, "model", lambda: _clmm(study, study.runs.with_figure(satisfaction)))
    period = attempt(refused, "model with period and carry-over", lambda: _clmm_with_period(study))
    tables = [_clmm_table(study, *fitted)] if fitted else []
    tables += [_clmm_table(study, period, None)] if period else []
    return Section(
        "ratings",
        f"Ratings against {study.reference}",
        Weight.ESTIMATED,
        text=(CLMM,),
        tables=tuple(tables),
        refused=tuple(refused),
        data={
            "model": plain(fitted[0]) if fitted else None,
            "all_conditions": plain(fitted[1]) if fitted else None,
            "period": plain(period),
        },
    )


def _clmm(study: Study, runs: Runs, more: Terms = NOTHING) -> tuple[ratings_clmm.Fit, ratings_clmm.JointTest]:
    """The model of ratings, and the joint test of all conditions."""
    found = fitted(study.runs, runs, study.reference, more)
    return found, ratings_clmm.test_together(found, compared(runs, study.reference).names)


def fitted(every: Runs, runs: Runs, reference: str, more: Terms = NOTHING) -> ratings_clmm.Fit:
    """The model of some of a study's runs, which have ratings. Raises Refusal, also if too many runs lack a rating."""
    require_complete(every.with_figure(satisfaction), every)
    terms = compared(runs, reference).beside(of_application(runs.rows, runs.applications)).beside(more)
    ratings = [run.rating for run in runs.rows if run.rating is not None]
    return ratings_clmm.fit(ratings, terms.columns, terms.names, [run.participant for run in runs.rows])


def _clmm_with_period(study: Study) -> ratings_clmm.Fit:
    runs = changing_places(study.runs.with_figure(satisfaction))
    return _clmm(study, runs, period_terms(runs))[0]


def _clmm_table(study: Study, fitted: ratings_clmm.Fit, together: ratings_clmm.JointTest | None) -> Table:
    rows = tuple(
        (
            each.name,
            fixed(each.estimate, 3),
            fixed(each.error, 3),
            fixed(each.model_error, 3),
            fixed(float(np.exp(each.estimate)), 2),
            f"{fixed(float(np.exp(each.low)), 2)} to {fixed(float(np.exp(each.high)), 2)}",
            p_value(each.p),
        )
        for each in fitted.effects
        if together or is_of_period(each.name)
    )
    notes = [
        (
            f"{fitted.ratings} ratings of {fitted.participants} participants; standard deviation of their intercepts "
            f"{fixed(fitted.sigma, 3)}; log likelihood {fixed(fitted.log_likelihood, 2)}."
        ),
        study.missing(fitted.ratings),
        "Two-sided p, not corrected for their number.",
    ]
    if together:
        notes.append(
            f"All conditions together: F {fixed(together.f, 2)} on {together.dof[0]} and {together.dof[1]} d. f., "
            f"p {p_value(together.p)}."
        )
    title = "Cumulative-link mixed model" + ("" if together else ": terms of period and carry-over (exploratory)")
    return Table(
        title, ("Term", "Log odds", "s. e.", "Model's s. e.", "Odds ratio", "95 % interval", "p"), rows, tuple(notes)
    )
