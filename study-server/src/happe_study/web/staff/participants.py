# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff's pages about participants: the list, invitations, one participant's runs, replacement, withdrawal.

They use the API's functions, so they show no condition, guess or rating that the caller may not see.
"""

from typing import Any

from flask import Blueprint, Response, g, request, url_for
from markupsafe import Markup
from sqlalchemy import select
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.paging import MOST_ROWS, Page, rows_after
from happe_study.base.parts import parts
from happe_study.base.problems import Problem, conflict
from happe_study.model.participants import Participant, ParticipantState
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.runs import Run
from happe_study.results.withdrawal import services as withdrawal
from happe_study.study.runs import participation as services
from happe_study.study.runs.exclusions import of_study
from happe_study.study.studies.services import find, protocol_of
from happe_study.web.api.participants import MOST_INVITED, link_of, shown
from happe_study.web.api.runs import shown as shown_runs
from happe_study.web.staff_page import Input, done, field, form_page, mistake, or_again, page, reason

pages = Blueprint("participant_staff", __name__)

INVITE = Markup(
    "<p>Each participant gets their own link, which leads through the whole study. The next page shows it once. The "
    "server knows participants only by a random code. Do not write down which person has which code, unless the "
    "protocol asks for it.</p>"
)


@pages.get("/studies/<study>/participants")
@staff(Right.RUN_READ)
def participants(study: str) -> Response:
    """A study's participants, all or in one state, in random order."""
    state = request.args.get("state", "")
    with parts().database.reading() as session:
        found = find(session, study)
        query = select(Participant).where(Participant.study_id == found.id)
        if state in set(ParticipantState):
            query = query.where(Participant.state == state)
        where = Page(cursor=request.args.get("cursor", "")[:64] or None, limit=MOST_ROWS)
        rows, following = rows_after(session, query, Participant.code, where)
        more: dict[str, Any] = {
            "rows": shown(session, rows),
            "next": following,
            "paged": where.cursor is not None,
            "state": state,
            "states": list(ParticipantState),
        }
        return page("participants", "Participants", study=found, **more)


@pages.get("/studies/<study>/invite")
@staff(Right.PARTICIPANT_MANAGE)
def invite_form(study: str, problem: Problem | None = None) -> Response:
    """The form that asks how many participants to invite."""
    with parts().database.reading() as session:
        found = find(session, study)
        fields = (Input("count", "How many", f"1 to {MOST_INVITED}", "number", "1"),)
        more: dict[str, Any] = {
            "about": INVITE,
            "here": "Invite",
            "study": found,
            "problem": problem,
            "trail": _above(study),
        }
        return form_page("Invite participants", "Invite", *fields, **more)


@pages.post("/studies/<study>/invite")
@staff(Right.PARTICIPANT_MANAGE)
@or_again(invite_form)
def invite(study: str) -> Response:
    """Invite participants, and show their links once."""
    count = field("count", longest=6)
    if not count.isascii() or not count.isdigit() or not 1 <= int(count) <= MOST_INVITED:
        raise mistake("count", f"Must be a number from 1 to {MOST_INVITED}.")
    with parts().database.writing() as session:
        found = find(session, study)
        invited = [services.invite(session, found, caller()) for _ in range(int(count))]
        links = [(one.code, link_of(token)) for one, token in invited]
        return page("invited", "Links of the new participants", study=found, links=links, trail=_above(study))


@pages.get("/studies/<study>/participants/<code>")
@staff(Right.RUN_READ)
def participant(study: str, code: str) -> Response:
    """One participant's runs."""
    with parts().database.reading() as session:
        found = find(session, study)
        one = services.find(session, found.id, code)
        protocol = protocol_of(found)
        query = select(Run).where(Run.participant_id == one.id).order_by(Run.position, Run.attempt)
        runs = shown_runs(session, found.id, list(session.scalars(query)))
        names = {application.key: application.name for application in protocol.applications}
        facts: dict[str, Any] = {"participant": shown(session, [one])[0], "runs": runs, "names": names}
        facts["excluded"] = {run or whose: each.reason for each, whose, run in of_study(session, found.id)}
        return page("participant", f"Participant {code}", study=found, trail=_above(study), **facts)


@pages.get("/studies/<study>/participants/<code>/replace")
@staff(Right.PARTICIPANT_MANAGE)
def replace_form(study: str, code: str, problem: Problem | None = None) -> Response:
    """The form that explains replacing and asks for a reason."""
    return about_one("replace", f"Replace participant {code}", study, code, problem)


@pages.post("/studies/<study>/participants/<code>/replace")
@staff(Right.PARTICIPANT_MANAGE)
@or_again(replace_form)
def replace(study: str, code: str) -> AnyResponse:
    """Replace a participant who dropped out: the next one gets the place."""
    why = reason()
    with parts().database.writing() as session:
        services.replace(session, services.find(session, g.happe_study_ids(study), code), why, caller())
    return done_with(f"Participant {code} is replaced: the place is free again.", study)


def _above(study: str) -> tuple[tuple[str, str], ...]:
    return ((url_for("participant_staff.participants", study=study), "Participants"),)


def about_one(name: str, title: str, study: str, code: str, problem: Problem | None) -> Response:
    """A form about one participant. Raises Problem 409 for somebody who no longer takes part."""
    with parts().database.reading() as session:
        found = find(session, study)
        one = services.find(session, found.id, code)
        if one.ended_us is not None:
            raise conflict("participant-state", f"Participant {code} is {one.state} already.")
        return page(name, title, study=found, problem=problem, trail=_above(study), participant=one)


def done_with(said: str, study: str) -> AnyResponse:
    """Return to the list, because a participant who withdrew may have another code now."""
    return done(said, "participant_staff.participants", study=study)


@pages.get("/studies/<study>/participants/<code>/withdraw")
@staff(Right.PARTICIPANT_MANAGE)
def withdraw_form(study: str, code: str, problem: Problem | None = None) -> Response:
    """The form that explains what withdrawing does to this participant's data, and asks for confirmation."""
    return about_one("results/withdraw", f"Withdraw participant {code}", study, code, problem)


@pages.post("/studies/<study>/participants/<code>/withdraw")
@staff(Right.PARTICIPANT_MANAGE)
@or_again(withdraw_form)
def withdraw(study: str, code: str) -> AnyResponse:
    """Withdraw the participant: erase or de-identify their data, as they chose in the consent."""
    if request.form.get("confirm", "").strip() != code:
        raise mistake("confirm", f"Type the code of the participant, {code}.")
    withdrawal.require_owner(parts())
    with parts().database.writing() as session:
        one = services.find(session, g.happe_study_ids(study), code)
        withdrawal.withdraw(session, one, parts().secrets, caller())
    return done_with("The participant has withdrawn. Their link no longer works.", study)
