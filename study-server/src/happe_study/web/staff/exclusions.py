# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a study's exclusions, with the form that excludes a run or a participant, or counts one again."""

from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.fields import LONGEST_REASON
from happe_study.base.parts import parts
from happe_study.base.problems import Problem
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.runs import ExclusionReason
from happe_study.study.runs import exclusions as services
from happe_study.study.studies.services import find
from happe_study.web.staff_page import done, field, mistake, or_again, page

pages = Blueprint("exclusion_pages", __name__)


@pages.get("/studies/<study>/exclusions")
@staff(Right.RUN_READ)
def exclusions(study: str, code: str = "", problem: Problem | None = None) -> Response:
    """The list, and the form: to count `code` or the parameter `again` again, else to exclude the parameter `code`."""
    with parts().database.reading() as session:
        found = find(session, study)
        rows = services.of_study(session, found.id)
        asked = code or request.args.get("again", "")
        again = asked if asked in {run or whose for _, whose, run in rows} else ""
        more: dict[str, Any] = {"rows": rows, "again": again, "reasons": [(each, each) for each in ExclusionReason]}
        more["code"] = request.args.get("code", "")[:16]
        return page("exclusions", "Exclusions", study=found, problem=problem, **more)


@pages.post("/studies/<study>/exclusions")
@staff(Right.PARTICIPANT_MANAGE)
@or_again(exclusions)
def exclude(study: str) -> AnyResponse:
    """Exclude a run or a participant."""
    code, chosen = field("code", longest=16).upper(), field("reason", longest=40)
    if chosen not in set(ExclusionReason):
        raise mistake("reason", "Choose a reason.")
    note = field("note", longest=LONGEST_REASON)
    with parts().database.writing() as session:
        try:
            services.exclude(session, find(session, study), code, ExclusionReason(chosen), note, caller())
        except Problem as problem:
            if problem.status != HTTPStatus.NOT_FOUND:
                raise
            raise mistake("code", "The study has no run or participant with this code.") from None
    return done(f"{code} is excluded.", "exclusion_pages.exclusions", study=study)


@pages.post("/studies/<study>/exclusions/<code>/inclusion")
@staff(Right.PARTICIPANT_MANAGE)
@or_again(exclusions)
def include(study: str, code: str) -> AnyResponse:
    """Count an excluded run or participant again."""
    note = field("note", longest=LONGEST_REASON)
    with parts().database.writing() as session:
        services.undo(session, find(session, study), code, note, caller())
    return done(f"{code} counts again.", "exclusion_pages.exclusions", study=study)
