# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff's pages about a run: abort it, and plan it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Blueprint, g, url_for
from markupsafe import Markup

from happe_study.base.parts import parts
from happe_study.model.participants import Participant
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.studies import Study
from happe_study.study.runs import services
from happe_study.study.studies.services import protocol_of
from happe_study.web.staff_page import Input, done, field, form_page, or_again

if TYPE_CHECKING:
    from flask import Response
    from sqlalchemy.orm import Session
    from werkzeug.wrappers import Response as AnyResponse

    from happe_study.base.problems import Problem
    from happe_study.model.runs import Run

pages = Blueprint("run_staff", __name__)

LONGEST_REASON = 500
ABORT = Markup(
    '<p>Run <span class="code">{}</span> is number {} of participant <span class="code">{}</span>: {}. An aborted run '
    "does not count. Its recorded data stay. You can plan it again, under the same sealed condition.</p>"
)
REPEAT = Markup(
    '<p>Run <span class="code">{}</span> was aborted{}. A new attempt takes its place, number {} of participant '
    '<span class="code">{}</span> ({}), the same sealed condition, and a new code.</p>'
)


@pages.get("/studies/<study>/runs/<code>/abort")
@staff(Right.RUN_MANAGE)
def abort_form(study: str, code: str, problem: Problem | None = None) -> Response:
    """The form that explains aborting and asks for a reason."""
    run, about, more = _form(study, code, problem)
    said = ABORT.format(code, run.position, *about)
    fields = (Input("reason", "Why", "For the audit log. Do not name anybody."),)
    return form_page(f"Abort run {code}", "Abort the run", *fields, about=said, here="Abort", danger=True, **more)


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
    run, about, more = _form(study, code, problem)
    why = (
        f": \N{LEFT DOUBLE QUOTATION MARK}{run.abort_reason}\N{RIGHT DOUBLE QUOTATION MARK}" if run.abort_reason else ""
    )
    said = REPEAT.format(code, why, run.position, *about)
    return form_page(f"Plan run {code} again", "Plan it again", about=said, here="Plan again", **more)


@pages.post("/studies/<study>/runs/<code>/repeat")
@staff(Right.RUN_MANAGE)
@or_again(repeat_form)
def repeat(study: str, code: str) -> AnyResponse:
    """Plan another attempt in place of an aborted run."""
    with parts().database.writing() as session:
        run = services.find(session, g.happe_study_ids(study), code)
        new = services.replace(session, run, parts().secrets, caller())
        return _back(session, run, study, f"Run {new.code} is planned in the place of {code}.")


def _form(study: str, code: str, problem: Problem | None) -> tuple[Run, tuple[str, str], dict[str, Any]]:
    """A run, its participant and application, and the arguments that its forms share."""
    with parts().database.reading() as session:
        found = session.get_one(Study, g.happe_study_ids(study))
        run = services.find(session, found.id, code)
        participant = session.get_one(Participant, run.participant_id).code
        back = url_for("participant_staff.participant", study=study, code=participant)
        above = ((url_for("participant_staff.participants", study=study), "Participants"), (back, participant))
        application = protocol_of(found).application(run.application).name
        more = {"study": found, "problem": problem, "trail": above, "back": back}
        return run, (participant, application), more


def _back(session: Session, run: Run, study: str, said: str) -> AnyResponse:
    participant = session.get_one(Participant, run.participant_id).code
    return done(said, "participant_staff.participant", study=study, code=participant)
