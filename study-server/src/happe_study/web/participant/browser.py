# SPDX-License-Identifier: GPL-2.0-or-later
"""What the participant's pages have in common: the participant, the next page, and errors in plain words.

A form from an old tab, after the Back button, or sent twice changes nothing. The answer is the participant's
next page, or a page that says what happened and has a link to the next page.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, g, make_response, redirect, render_template, url_for
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base import languages
from happe_study.base.parts import parts
from happe_study.base.problems import Problem, of_fault
from happe_study.model.participants import Participant
from happe_study.model.rules import Who, caller
from happe_study.model.studies import Study
from happe_study.study.people.callers import PARTICIPANT_COOKIE
from happe_study.study.protocol.reading import Protocol
from happe_study.study.runs import participation as services
from happe_study.study.runs import services as runs
from happe_study.study.runs import steps
from happe_study.study.runs.steps import Present, Step
from happe_study.study.studies.services import protocol_of

COOKIE_PATH = "/p"

# Problems with their own text in templates/participant/trouble.html; others get the text for their status.
KINDS = frozenset({"csrf", "another-person", "full", "not-open", "rated", "guessed", "consented", "answered"})
NOWHERE_TO_GO = frozenset({"another-person", "full", "not-open"})


@dataclass(frozen=True)
class Here:
    """The participant who makes this request, and their step in the study."""

    participant: Participant
    study: Study
    protocol: Protocol
    now: Present | None
    step: Step


def here(session: Session) -> Here:
    """The participant who makes this request, and their step. Also sets the page's language."""
    participant, study = services.read(session, caller().id)
    protocol = protocol_of(study)
    languages.prefer(lambda: protocol.language)
    now = runs.present(session, participant, protocol) if steps.depends_on_runs(participant) else None
    return Here(participant, study, protocol, now, steps.step(participant, now))


def page(name: str, at: Here, title: str, status: HTTPStatus = HTTPStatus.OK, **more: Any) -> Response:  # noqa: ANN401 - what templates take
    """Render templates/participant/NAME.html for a participant."""
    facts: dict[str, Any] = {"participant": at.participant, "study": at.study, "protocol": at.protocol}
    text = render_template(f"participant/{name}.html", title=title, steps=Step, step=at.step, **facts, **more)
    return make_response(text, status)


def go_on(participant: Participant | None = None) -> AnyResponse:
    """Redirect (303) to the participant's next page. `participant`: their row, if the caller has it."""
    if participant is not None and not steps.depends_on_runs(participant):
        return lead_to(steps.step(participant, None))
    with parts().database.looking_up() as session:
        return lead_to(here(session).step)


def lead_to(step: Step) -> AnyResponse:
    """Redirect (303) to a step's page."""
    return redirect(address(step), HTTPStatus.SEE_OTHER)


def address(step: Step) -> str:
    """The address of a step's page."""
    return url_for("run_pages.run" if step is Step.RUN else f"participant_pages.{step}")


def know(response: AnyResponse, token: str) -> None:
    """Set the cookie with the participant's token. The browser deletes it when it closes."""
    https = parts().config.https
    response.set_cookie(PARTICIPANT_COOKIE, token, path=COOKIE_PATH, httponly=True, samesite="Strict", secure=https)


def forget(response: AnyResponse) -> None:
    """Delete the cookie with the participant's token."""
    https = parts().config.https
    response.delete_cookie(PARTICIPANT_COOKIE, path=COOKIE_PATH, httponly=True, samesite="Strict", secure=https)


def goodbye(why: str) -> AnyResponse:
    """Delete the participant's cookie, and redirect (303) to the last page."""
    response = redirect(url_for("participant_pages.goodbye", why=why), HTTPStatus.SEE_OTHER)
    forget(response)
    return response


def prepare(blueprint: Blueprint) -> None:
    """Prepare a blueprint: choose the language, and show errors in plain words."""
    languages.speak(blueprint)

    @blueprint.before_request
    def _study_language() -> None:
        who = g.get("happe_caller")
        if who is not None and who.study_id is not None:
            languages.prefer(partial(_language, who.study_id))

    @blueprint.errorhandler(Problem)
    def _problem(problem: Problem) -> Response:
        return trouble(problem.status, problem.kind, problem.detail)

    @blueprint.errorhandler(HTTPException)
    def _http(error: HTTPException) -> Response | HTTPException:
        if error.code is None or error.code < HTTPStatus.BAD_REQUEST:
            return error
        return trouble(HTTPStatus(error.code))

    @blueprint.errorhandler(Exception)
    def _unexpected(error: Exception) -> Response:
        return trouble(of_fault(error).status)


def _language(study_id: int) -> str | None:
    """A study's language; None if the database fails, since the page about that error needs a language too."""
    with suppress(Exception), parts().database.looking_up() as session:
        return protocol_of(session.get_one(Study, study_id)).language
    return None


def trouble(status: HTTPStatus, kind: str = "", detail: str = "") -> Response:
    """A page that says what happened, with a link to the next page if there is one."""
    who = g.get("happe_caller")
    known = who is not None and who.who is Who.PARTICIPANT and kind not in NOWHERE_TO_GO
    reason = kind if kind in KINDS else str(int(status))
    return make_response(render_template("participant/trouble.html", reason=reason, detail=detail, known=known), status)


def errors_of(problem: Problem) -> Mapping[str, str]:
    """The errors of a form, by the field's name; under "" the error that belongs to no field."""
    return {error.pointer.removeprefix("/"): error.detail for error in problem.errors} or {"": problem.detail}
