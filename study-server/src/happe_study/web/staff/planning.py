# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages of a study's plans: their assumptions, progress and results. They need only the protocol."""

from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, g, request, url_for
from flask import Response as Answer
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.database import FOR_CHANGE
from happe_study.base.parts import parts
from happe_study.base.problems import Problem, conflict, not_found
from happe_study.model.audit.chain import append
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import OPEN, JobState
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.studies import Study
from happe_study.results.analysis.plan import (
    ASSUMPTIONS,
    FEWEST,
    MOST,
    MOST_STUDIES,
    STUDIES,
    Assumption,
    document,
    of_protocol,
)
from happe_study.results.analysis.refusal import Refusal
from happe_study.results.planning import PLAN
from happe_study.study.studies.services import find, protocol_of
from happe_study.web.staff_page import done, field, mistake, or_again, page

pages = Blueprint("planning_pages", __name__)

MOST_SIZES = 10
BETWEEN = "Must be a {what} from {low:g} to {high:g}."


@pages.get("/studies/<study>/protocol/plan")
@staff(Right.STUDY_READ)
def plans(study: str, problem: Problem | None = None) -> Response:
    """The plans of a study, newest first, and the form for another plan."""
    with parts().database.reading() as session:
        found = find(session, study)
        mine = jobs.of_study(session, found.id, PLAN)
    above = ((url_for("study_pages.protocol", study=study), "Protocol"),)
    facts: dict[str, Any] = {
        "open": next((job for job in mine if job.state in OPEN), None),
        "failed": mine[0].failed if mine else None,
        "made": [job for job in mine if job.state == JobState.DONE],
        "assumptions": ASSUMPTIONS,
        "bounds": {"sizes": (FEWEST, MOST), "studies": (STUDIES, MOST_STUDIES)},
    }
    return page("results/plans", "Plan", study=found, problem=problem, trail=above, **facts)


@pages.post("/studies/<study>/protocol/plan")
@staff(Right.STUDY_READ)
@or_again(plans)
def plan(study: str) -> AnyResponse:
    """Start a plan of the present protocol."""
    sizes, studies = _sizes(), _whole("studies", field("studies"), 1, MOST_STUDIES)
    assumed = {each.name: _assumed(each) for each in ASSUMPTIONS}
    with parts().database.writing() as session:
        found = session.get_one(Study, g.happe_study_ids(study), with_for_update=FOR_CHANGE)
        if jobs.open_one(session, PLAN, found.id):
            raise conflict(
                "plan", "The server is making a plan of this study. Wait until it is ready, or cancel the job."
            )
        try:
            wanted = of_protocol(protocol_of(found), sizes, studies, assumed)
        except Refusal as error:
            raise conflict("protocol", f"The protocol {error}.") from None
        job = jobs.ask(session, PLAN, caller().name, found.id, **asdict(wanted))
        append(session, "plan.asked", caller(), study_id=found.id, study=study, job=job.id)
    return done("The server is making the plan.", "planning_pages.plans", study=study)


@pages.get("/studies/<study>/protocol/plan/<int:number>.json")
@staff(Right.STUDY_READ)
def download(study: str, number: int) -> Response:
    """A plan's result as JSON."""
    with parts().database.reading() as session:
        mine = jobs.of_study(session, g.happe_study_ids(study), PLAN)
    result = next((job.result for job in mine if job.id == number), None)
    if result is None:
        raise not_found()
    answer = Answer(document(result["powers"]), content_type="application/json")
    answer.headers["Content-Disposition"] = f'attachment; filename="{study}-plan-{number}.json"'
    return answer


def _sizes() -> list[int]:
    """The numbers of participants in the form, separated by commas or spaces. Raises Problem 422."""
    words = request.form.get("sizes", "").replace(",", " ").split()
    if len(words) > MOST_SIZES:
        raise mistake("sizes", f"At most {MOST_SIZES} numbers.")
    return [_whole("sizes", word, FEWEST, MOST) for word in words]


def _whole(name: str, text: str, low: int, high: int) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= len(str(high)) else low - 1
    if not low <= number <= high:
        raise mistake(name, BETWEEN.format(what="whole number", low=low, high=high))
    return number


def _assumed(wanted: Assumption) -> float:
    try:
        number = float(field(wanted.name))
    except ValueError:
        number = wanted.low - 1
    if not wanted.low <= number <= wanted.high:  # "nan" is a float, too
        raise mistake(wanted.name, BETWEEN.format(what="number", low=wanted.low, high=wanted.high))
    return number
