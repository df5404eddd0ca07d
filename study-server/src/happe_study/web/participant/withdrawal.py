# SPDX-License-Identifier: GPL-2.0-or-later
"""The participant's page to withdraw. It works without any script."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from apiflask import APIBlueprint
from flask import Response, request

from happe_study.base.languages import gettext
from happe_study.base.parts import parts
from happe_study.model.participants import OnWithdrawal, Participant
from happe_study.model.rules import caller, participant
from happe_study.results.withdrawal import services
from happe_study.web.participant import browser
from happe_study.web.participant.browser import Here, here, page

if TYPE_CHECKING:
    from werkzeug.wrappers import Response as AnyResponse

pages = APIBlueprint("withdrawal_pages", __name__, url_prefix="/p", enable_openapi=False)
browser.prepare(pages)

CONFIRMATION = "withdraw"


@pages.get("/withdraw")
@participant
def withdrawal() -> Response:
    """The form that explains a withdrawal and asks for confirmation."""
    with parts().database.looking_up() as session:
        return _withdrawal(here(session))


@pages.post("/withdraw")
@participant
def withdraw() -> AnyResponse:
    """Withdraw the participant if they typed the confirmation word."""
    if request.form.get("confirm", "").strip().lower() not in (CONFIRMATION, gettext(CONFIRMATION)):
        with parts().database.looking_up() as session:
            said = gettext("Type the word %(word)s, or go back if you want to stay.")
            wrong = {"confirm": said % {"word": gettext(CONFIRMATION)}}
            return _withdrawal(here(session), wrong)
    services.require_owner(parts())
    with parts().database.writing() as session:
        row = session.get_one(Participant, caller().id)
        chosen = services.withdraw(session, row, parts().secrets, caller())
    return browser.goodbye(chosen)


def _withdrawal(at: Here, errors: dict[str, str] | None = None) -> Response:
    chosen = OnWithdrawal(at.participant.on_withdrawal or OnWithdrawal.ERASE)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if errors else HTTPStatus.OK
    facts = {"chosen": chosen, "word": gettext(CONFIRMATION), "errors": errors or {}}
    return page("withdraw", at, gettext("Withdraw from the study"), status, **facts)
