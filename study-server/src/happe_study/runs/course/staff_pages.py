# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff's pages about a run: abort it, and plan it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, g, url_for

from happe_study.access.rights import Right
from happe_study.access.rules import caller, staff
from happe_study.access.staff_page import done, field, or_again, page
from happe_study.base.parts import parts
from happe_study.design.study import Study
from happe_study.people.participants.models import Participant
from happe_study.runs.course import services
from happe_study.studies.services import protocol_of

if TYPE_CHECKING:
    from flask import Response
    from sqlalchemy.orm import Session
    from werkzeug.wrappers import Response as AnyResponse

    from happe_study.base.problems import Problem
    from happe_study.runs.course.models import Run

pages = Blueprint("run_staff", __name__)

LONGEST_REASON = 500


@pages.get("/studies/<study>/runs/<code>/abort")
@staff(Right.RUN_MANAGE)
def abort_form(study: str, code: str, problem: Problem | None = None) -> Response:
    """The form that explains aborting and asks for a reason."""
    return _form("runs/abort", f"Abort run {code}", study, code, problem)


@pages.post("/studies/<study>/runs/<code>/abort")
@staff(Right.RUN_MANAGE)
@or_again(abort_form)
def abort(study: str, code: str) -> AnyResponse:
    """Abort a run, with the reason why it doesn't count."""
    reason = field("reason", longest=LONGEST_REASON, what="The reason")
    with parts().database.writing() as session:
        run = services.find(session, g.happe_study_ids(study), code)
        services.abort(session, run, reason, caller())
        return _back(session, run, study, f"Run {code} is aborted. You can plan it again.")


@pages.get("/studies/<study>/runs/<code>/repeat")
@staff(Right.RUN_MANAGE)
def repeat_form(study: str, code: str, problem: Problem | None = None) -> Response:
    """The form that explains planning a run again and asks for confirmation."""
    return _form("runs/repeat", f"Plan run {code} again", study, code, problem)


@pages.post("/studies/<study>/runs/<code>/repeat")
@staff(Right.RUN_MANAGE)
@or_again(repeat_form)
def repeat(study: str, code: str) -> AnyResponse:
    """Plan another attempt in place of an aborted run."""
    with parts().database.writing() as session:
        run = services.find(session, g.happe_study_ids(study), code)
        new = services.replace(session, run, parts().secrets, caller())
        return _back(session, run, study, f"Run {new.code} is planned in the place of {code}.")


def _form(name: str, title: str, study: str, code: str, problem: Problem | None) -> Response:
    with parts().database.reading() as session:
        found = session.get_one(Study, g.happe_study_ids(study))
        run = services.find(session, found.id, code)
        participant = session.get_one(Participant, run.participant_id).code
        above = (
            (url_for("participant_staff.participants", study=study), "Participants"),
            (url_for("participant_staff.participant", study=study, code=participant), participant),
        )
        application = protocol_of(found).application(run.application).name
        facts = {"run": run, "participant": participant, "application": application}
        return page(name, title, study=found, problem=problem, trail=above, **facts)


def _back(session: Session, run: Run, study: str, said: str) -> AnyResponse:
    participant = session.get_one(Participant, run.participant_id).code
    return done(said, "participant_staff.participant", study=study, code=participant)
