# SPDX-License-Identifier: GPL-2.0-or-later
"""Unblinding: what is unfinished, for everybody; and the custodian's forms for a study, and one run in an emergency.

Both forms ask for the password again.
"""

from typing import Any

from flask import Blueprint, Response, request, url_for
from sqlalchemy.orm import Session

from happe_study.base.parts import parts
from happe_study.base.problems import FieldError, Problem, unprocessable
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.studies import Study, StudyState
from happe_study.results import unblinding as services
from happe_study.results.gate import excluded, unfinished
from happe_study.results.unblinding import LONGEST_REASON, SHORTEST_REASON, Order
from happe_study.study.runs import services as runs
from happe_study.study.studies import custodians
from happe_study.study.studies.services import find
from happe_study.web.staff_page import field, mistake, or_again, page

pages = Blueprint("unblinding_pages", __name__)


@pages.get("/studies/<study>/unblinding")
@staff(Right.STUDY_READ)
def unblinding(study: str) -> Response:
    """The page about the study's unblinding: what it still lacks, or lacked, and the custodian's links to the forms."""
    return _page("results/unblinding", "Unblinding", study, None)


@pages.get("/studies/<study>/unblinding/study")
@staff(Right.UNBLIND, fresh=True)
def unblind_form(study: str, problem: Problem | None = None) -> Response:
    """The form that explains unblinding the study, and asks for a reason and confirmation."""
    return _page("results/unblind", "Unblind the whole study", study, problem)


@pages.post("/studies/<study>/unblinding/study")
@staff(Right.UNBLIND, fresh=True)
@or_again(unblind_form)
def unblind(study: str) -> Response:
    """Unblind the study: write every run's condition."""
    order = _order(study, "the name of the study, without anything before or after it")
    with parts().database.writing() as session:
        found = find(session, study)
        _require_custodian(session, found)
        check = services.unblind(session, found, parts().secrets, order)
        return page(
            "results/unblinded", "The study is unblinded", study=found, check=check.summary(), trail=_above(study)
        )


@pages.get("/studies/<study>/unblinding/run")
@staff(Right.UNBLIND, fresh=True)
def unblind_run_form(study: str, problem: Problem | None = None) -> Response:
    """The form for unblinding one run. It asks for the run, then shows which other runs that would reveal."""
    title, code = "Unblind one run in an emergency", (request.values.get("run", "")[:16]).strip().upper()
    with parts().database.reading() as session:
        found = find(session, study)
        try:
            run = runs.find(session, found.id, code) if code else None
        except Problem:
            run, problem = None, problem or mistake("run", "The study has no run with this code.")
        reveals = services.revealed_by(session, found, run) if run and found.state == StudyState.LOCKED else []
        return page(
            "results/unblind_run", title, study=found, problem=problem, trail=_above(study), run=run, reveals=reveals
        )


@pages.post("/studies/<study>/unblinding/run")
@staff(Right.UNBLIND, fresh=True)
@or_again(unblind_run_form)
def unblind_run(study: str) -> Response:
    """Reveal one run's condition to the custodian only."""
    code = field("run", longest=16).upper()
    typed = request.form.get("confirmation", "").strip().upper()  # quick: case does not matter
    order = _order(code, "the code of the run once more", typed)
    with parts().database.writing() as session:
        found = find(session, study)
        _require_custodian(session, found)
        try:
            run = runs.find(session, found.id, code)
        except Problem:
            raise mistake("run", "The study has no run with this code.") from None
        condition = services.unblind_run(session, found, run, parts().secrets, order)
        return page(
            "results/unblinded_run", f"Run {code}", study=found, condition=condition, trail=_above(study), run=run
        )


def _require_custodian(session: Session, study: Study) -> None:
    custodians.require(session, study, caller(), parts().config.custodian_wait_hours)


def _order(name: str, what: str, typed: str | None = None) -> Order:
    """Read the form. The service checks it again; this check reports all fields at once, in words for a form."""
    said = {"reason": "", "override": ""}
    wrong: list[FieldError] = []
    for each in said:
        if each in request.form:
            try:
                said[each] = field(each, shortest=SHORTEST_REASON, longest=LONGEST_REASON, what="The reason")
            except Problem as problem:
                wrong.extend(problem.errors)
    if (request.form.get("confirmation") if typed is None else typed) != name:
        wrong.append(FieldError("/confirmation", f"Type {what}: {name}"))
    if wrong:
        raise unprocessable("Nothing was unblinded.", *wrong)
    return Order(caller(), confirmation=name, **said)


def _page(name: str, title: str, study: str, problem: Problem | None) -> Response:
    with parts().database.reading() as session:
        found = find(session, study)
        holders = custodians.of_study(session, found, parts().config.custodian_wait_hours)
        trail = _above(study) if name != "results/unblinding" else ()
        lacks: dict[str, Any] = {
            "unfinished": unfinished(session, found),
            "deviation": services.deviation(session, found),
        }
        lacks["excluded"] = excluded(session, found)
        return page(name, title, study=found, problem=problem, trail=trail, custodians=holders, **lacks)


def _above(study: str) -> tuple[tuple[str, str], ...]:
    return ((url_for("unblinding_pages.unblinding", study=study), "Unblinding"),)
