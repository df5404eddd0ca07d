# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants over HTTP, for staff: invite, list, replace and withdraw them. Only exports contain their answers."""

from collections.abc import Sequence
from typing import Annotated, Any

from apiflask import APIBlueprint
from flask import g
from pydantic import BaseModel, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from happe_study.base.fields import Code, Reason, Strict
from happe_study.base.paging import Page, rows_after
from happe_study.base.parts import parts
from happe_study.base.problems import FieldError, unprocessable
from happe_study.model.participants import OnWithdrawal, Participant, ParticipantState
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.results.withdrawal import services as withdrawal
from happe_study.study.runs import participation as services
from happe_study.study.runs.machine import State

api = APIBlueprint("participants", __name__, url_prefix="/api/v1", tag="Participants")

MOST_INVITED = 200  # in one request

Json = dict[str, Any]


class Invitations(Strict):
    """How many participants to invite."""

    count: Annotated[int, Field(ge=1, le=MOST_INVITED)]


class Replacement(Strict):
    """Why a participant is replaced."""

    reason: Reason


class InvitedOut(BaseModel):
    """A new participant and their link, which the server shows only once."""

    code: Code
    link: str


class InvitationsOut(BaseModel):
    """New participants."""

    participants: list[InvitedOut]


class ParticipantOut(BaseModel):
    """A participant, as staff see them. `runs` is the number of their positions, `complete` that of complete runs."""

    code: Code
    state: ParticipantState
    stratum: str | None
    created_us: int
    consent_version: str | None
    consent_us: int | None
    on_withdrawal: OnWithdrawal | None
    enrolled_us: int | None
    handout_us: int | None
    done_us: int | None
    ended_us: int | None
    runs: int
    complete: int


class ParticipantsOut(BaseModel):
    """A page of participants in random order; `next` is the cursor of the next page."""

    participants: list[ParticipantOut]
    next: str | None


class ParticipantsPage(Page):
    """Filters for a list of participants."""

    state: ParticipantState | None = None


SHOWN = frozenset(ParticipantOut.model_fields) - {"runs", "complete"}


@api.post("/studies/<study>/participants")
@staff(Right.PARTICIPANT_MANAGE)
@api.input(Invitations)
@api.output(InvitationsOut, 201)
@api.doc(responses={409: "The study is not locked yet, or is unblinded."})
def invite_participants(study: str, json_data: Invitations) -> Json:
    """Invite participants. The answer has a link for each, which the server shows only once."""
    with parts().database.writing() as session:
        row = session.get_one(Study, g.happe_study_ids(study))
        invited = [services.invite(session, row, caller()) for _ in range(json_data.count)]
        return {"participants": [{"code": one.code, "link": link_of(token)} for one, token in invited]}


@api.get("/studies/<study>/participants")
@staff(Right.RUN_READ)
@api.input(ParticipantsPage, location="query")
@api.output(ParticipantsOut)
@api.doc(responses={422: "There is no such state or page."})
def list_participants(study: str, query_data: ParticipantsPage) -> Json:
    """List a study's participants."""
    study_id: int = g.happe_study_ids(study)
    with parts().database.reading() as session:
        query = select(Participant).where(Participant.study_id == study_id)
        if query_data.state is not None:
            query = query.where(Participant.state == query_data.state)
        rows, following = rows_after(session, query, Participant.code, query_data)
        return {"participants": shown(session, rows), "next": following}


@api.get("/studies/<study>/participants/<code>")
@staff(Right.RUN_READ)
@api.output(ParticipantOut)
def read_participant(study: str, code: str) -> Json:
    """Read a participant's progress."""
    with parts().database.reading() as session:
        return shown(session, [services.find(session, g.happe_study_ids(study), code)])[0]


@api.post("/studies/<study>/participants/<code>/replacement")
@staff(Right.PARTICIPANT_MANAGE)
@api.input(Replacement)
@api.output(ParticipantOut)
@api.doc(responses={409: "They have completed every run, or have withdrawn."})
def replace_participant(study: str, code: str, json_data: Replacement) -> Json:
    """Replace a participant who dropped out. Their place goes to the next participant of their stratum."""
    with parts().database.writing() as session:
        participant = services.find(session, g.happe_study_ids(study), code)
        services.replace(session, participant, json_data.reason, caller())
        return shown(session, [participant])[0]


def link_of(token: str) -> str:
    """The address of a participant's link."""
    return f"{parts().config.public_url}/p/{token}"


def shown(session: Session, participants: Sequence[Participant]) -> list[Json]:
    """Participants, with the fields that staff may see."""
    counts = _counts(session, [participant.id for participant in participants])
    return [
        {name: getattr(participant, name) for name in SHOWN} | counts.get(participant.id, {"runs": 0, "complete": 0})
        for participant in participants
    ]


def _counts(session: Session, ids: list[int]) -> dict[int, Json]:
    complete = func.count().filter(Run.state == State.COMPLETE)
    runs = func.count(Run.position.distinct())
    query = select(Run.participant_id, runs, complete).where(Run.participant_id.in_(ids))
    rows = session.execute(query.group_by(Run.participant_id))
    return {participant: {"runs": runs, "complete": complete} for participant, runs, complete in rows}


class Confirmation(Strict):
    """The participant's code once more, since a withdrawal can't be undone."""

    confirm: Annotated[str, Field(max_length=40)]


@api.post("/studies/<study>/participants/<code>/withdrawal")
@staff(Right.PARTICIPANT_MANAGE)
@api.input(Confirmation)
@api.output({}, 204)
def withdraw_participant(study: str, code: str, json_data: Confirmation) -> str:
    """Withdraw a participant who asks for it. The server treats their data as they chose in the consent, for good.

    The answer is empty, because it must not reveal the new code of data that stays.
    """
    if json_data.confirm != code:
        raise unprocessable("A withdrawal can't be undone.", FieldError("/confirm", "must be the participant's code"))
    withdrawal.require_owner(parts())
    with parts().database.writing() as session:
        participant = services.find(session, g.happe_study_ids(study), code)
        withdrawal.withdraw(session, participant, parts().secrets, caller())
    return ""
