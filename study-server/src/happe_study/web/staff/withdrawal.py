# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff's page to withdraw a participant who asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, g, request

from happe_study.base.parts import parts
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.results.withdrawal import services
from happe_study.study.runs.participation import find
from happe_study.web.staff.participants import about_one, done_with
from happe_study.web.staff_page import mistake, or_again

if TYPE_CHECKING:
    from flask import Response
    from werkzeug.wrappers import Response as AnyResponse

    from happe_study.base.problems import Problem

pages = Blueprint("withdrawal_staff", __name__)


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
    services.require_owner(parts())
    with parts().database.writing() as session:
        one = find(session, g.happe_study_ids(study), code)
        services.withdraw(session, one, parts().secrets, caller())
    return done_with("The participant has withdrawn. Their link no longer works.", study)
