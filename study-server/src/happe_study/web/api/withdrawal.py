# SPDX-License-Identifier: GPL-2.0-or-later
"""Withdrawals over HTTP, for staff who act for a participant."""

from __future__ import annotations

from typing import Annotated

from apiflask import APIBlueprint
from flask import g
from pydantic import Field

from happe_study.base.fields import Strict
from happe_study.base.parts import parts
from happe_study.base.problems import FieldError, unprocessable
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.results.withdrawal import services
from happe_study.study.runs.participation import find

api = APIBlueprint("withdrawal", __name__, url_prefix="/api/v1", tag="Participants")


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
    study_id: int = g.happe_study_ids(study)
    if json_data.confirm != code:
        raise unprocessable("A withdrawal can't be undone.", FieldError("/confirm", "must be the participant's code"))
    services.require_owner(parts())
    with parts().database.writing() as session:
        participant = find(session, study_id, code)
        services.withdraw(session, participant, parts().secrets, caller())
    return ""
