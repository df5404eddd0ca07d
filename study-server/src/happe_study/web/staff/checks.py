# SPDX-License-Identifier: GPL-2.0-or-later
"""The page with the checks of a study's data: the last results, and the button that checks again."""

from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response, g
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.database import FOR_CHANGE
from happe_study.base.parts import parts
from happe_study.base.problems import Problem, conflict
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import OPEN, Job, JobState
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.studies import Study, StudyState
from happe_study.study.checks.services import CHECKS
from happe_study.study.studies.services import find
from happe_study.web.staff_page import done, or_again, page

pages = Blueprint("check_pages", __name__)


@pages.get("/studies/<study>/checks")
@staff(Right.RUN_READ)
def checks(study: str, problem: Problem | None = None) -> Response:
    """The last results. Checks that could reveal a condition need the right to export, and an unblinded study."""
    with parts().database.reading() as session:
        found = find(session, study)
        mine = _mine(session, found)
        made = next((job for job in mine if job.state == JobState.DONE), None)
        said = made.result["checks"] if made and made.result else []
    waiting = next((job for job in mine if job.state in OPEN), None)
    facts: dict[str, Any] = {"open": waiting, "last": next(iter(mine), None), "done": made, "checks": said}
    return page("checks", "Checks", study=found, problem=problem, **facts)


@pages.post("/studies/<study>/checks")
@staff(Right.RUN_READ)
@or_again(checks)
def check(study: str) -> AnyResponse:
    """Check the study as it is now."""
    with parts().database.writing() as session:
        found = session.get_one(Study, g.happe_study_ids(study), with_for_update=FOR_CHANGE)
        if any(job.state in OPEN for job in _mine(session, found)):
            raise conflict("checks", "The server is checking this study. Wait until it is done.")
        jobs.ask(session, CHECKS, caller().name, found.id, conditions=_conditions(found))
    return done("The server is checking the study.", "check_pages.checks", study=study)


def _mine(session: Session, study: Study) -> Sequence[Job]:
    """The jobs whose results the caller may see, the newest first."""
    wanted = _conditions(study)
    every = jobs.of_study(session, study.id, CHECKS, results=False)
    return [job for job in every if job.arguments["conditions"] == wanted]


def _conditions(study: Study) -> bool:
    """Whether the caller may know conditions."""
    return caller().may(Right.EXPORT, study.id) and study.state == StudyState.UNBLINDED
