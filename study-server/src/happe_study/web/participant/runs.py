# SPDX-License-Identifier: GPL-2.0-or-later
"""The participant's pages about runs: the next run, its rating, and the guess of its condition.

A page that waits reloads only if the participant asks for it, because readers who need time lose a page that changes by
itself (WCAG 2.2.1, 2.2.4, 3.2.5). With `?watch=1` the page sends `Refresh`, every ten seconds, while there is something
to wait for, and has a link that ends this.
"""

import uuid
from http import HTTPStatus

from apiflask import APIBlueprint
from flask import Response, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.languages import gettext
from happe_study.base.parts import parts
from happe_study.base.problems import Problem
from happe_study.model.rules import caller, participant
from happe_study.study.runs import services
from happe_study.study.runs.steps import Moment, Present, Step
from happe_study.web.participant import browser
from happe_study.web.participant.browser import Here, go_on, here, lead_to, page

pages = APIBlueprint("run_pages", __name__, url_prefix="/p", enable_openapi=False)
browser.prepare(pages)

WATCH_SECONDS = 10
ASKS = {Moment.RATES: "rating", Moment.GUESSES: "guess"}
TITLES = {
    Moment.WAITS: "Run %(number)s of %(total)s comes next",
    Moment.PLAYS: "Run %(number)s of %(total)s is in progress",
    Moment.RATES: "Rate run %(number)s of %(total)s",
    Moment.GUESSES: "Your guess about run %(number)s of %(total)s",
    Moment.STOPPED: "Run %(number)s of %(total)s was stopped",
}


@pages.get("/run")
@participant
def run() -> AnyResponse:
    """The participant's present run: its state, its rating's form or its guess's form."""
    with parts().database.looking_up() as session:
        at = here(session)
        if at.step is not Step.RUN or at.now is None:
            return lead_to(at.step)
        return _ask(at, at.now) if at.now.moment in ASKS else _wait(at, at.now)


@pages.get("/rating")
@pages.get("/guess")
@participant
def back() -> AnyResponse:
    """Go to the next page, for a browser that returns to a form's address."""
    return go_on()


@pages.post("/rating")
@participant
def rate() -> AnyResponse:
    """Store a rating."""
    chosen = request.form.get("rating", "")
    if not (chosen.isascii() and chosen.isdigit() and len(chosen) <= 3):  # noqa: PLR2004 - digits of 100
        return _again("rating", gettext("Choose one of the numbers."))
    try:
        with parts().database.writing() as session:
            found = services.find_own(session, caller().id, request.form.get("run", ""))
            services.require_lasted(session, found, parts().config.least_share_of_run)
            services.rate(session, found, _client_id(), int(chosen), caller())
    except Problem as problem:
        if problem.status is not HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        return _again("rating", gettext("Choose one of the numbers."))
    return go_on()


@pages.post("/guess")
@participant
def guess() -> AnyResponse:
    """Store a guess."""
    try:
        with parts().database.writing() as session:
            found = services.find_own(session, caller().id, request.form.get("run", ""))
            services.guess(session, found, _client_id(), request.form.get("guess", ""), caller())
    except Problem as problem:
        if problem.status is not HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        return _again("guess", gettext("Choose one of the answers."))
    return go_on()


def _wait(at: Here, now: Present) -> Response:
    watches = request.args.get("watch") == "1"
    response = page("run", at, _title(now), now=now, application=_application(at, now), watches=watches)
    if watches:
        response.headers["Refresh"] = f"{WATCH_SECONDS}; url={url_for('run_pages.run', watch=1)}"
    return response


def _ask(at: Here, now: Present, error: str | None = None) -> Response:
    name = ASKS[now.moment]
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error else HTTPStatus.OK
    facts = {"now": now, "application": _application(at, now), "client_id": str(uuid.uuid4())}
    return page(name, at, _title(now), status, errors={name: error} if error else {}, **facts)


def _again(name: str, error: str) -> AnyResponse:
    """Show the form again with an error, if it is still the participant's next step."""
    with parts().database.looking_up() as session:
        at = here(session)
        if at.step is not Step.RUN or at.now is None or ASKS.get(at.now.moment) != name:
            return lead_to(at.step)
        if at.now.run.code != request.form.get("run"):
            return lead_to(at.step)
        return _ask(at, at.now, error)


def _client_id() -> str:
    """The form's id. Raises Problem 409 if it is no UUID, since the server made no such form."""
    try:
        return str(uuid.UUID(request.form.get("id", "")))
    except ValueError:
        raise Problem(HTTPStatus.CONFLICT, "stale", "This form has no id.") from None


def _title(now: Present) -> str:
    return gettext(TITLES[now.moment]) % {"number": now.number, "total": now.total}


def _application(at: Here, now: Present) -> str:
    return at.protocol.application(now.run.application).name
