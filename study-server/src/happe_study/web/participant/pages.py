# SPDX-License-Identifier: GPL-2.0-or-later
"""The participant's pages: link, consent, questionnaire, handout, done, withdrawal. They work without any script."""

from datetime import UTC, datetime
from http import HTTPStatus

from apiflask import APIBlueprint
from flask import Response, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base import languages, limits
from happe_study.base.languages import gettext, ngettext
from happe_study.base.parts import parts
from happe_study.base.problems import Problem, not_found
from happe_study.base.uploads import takes
from happe_study.model.participants import OnWithdrawal, Participant
from happe_study.model.rules import Caller, Who, anybody, caller, participant
from happe_study.results.withdrawal import services as withdrawals
from happe_study.study.people import callers
from happe_study.study.people.questionnaire import echo
from happe_study.study.protocol.reading import paragraphs
from happe_study.study.runs import participation as services
from happe_study.study.runs.steps import Step
from happe_study.study.studies.services import protocol_of
from happe_study.web.participant import browser
from happe_study.web.participant.browser import Here, errors_of, go_on, here, lead_to, page

pages = APIBlueprint("participant_pages", __name__, url_prefix="/p", enable_openapi=False)
browser.prepare(pages)

LONGEST_LEAD_IN = 5  # words
CONFIRMATION = "withdraw"
MOST_ANSWERS = 128 << 10  # bytes: 53 answers of 200 characters, whose code in a form has at most 12 bytes
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


@pages.app_template_filter("paragraphs")
def _paragraphs(text: str) -> tuple[str, ...]:
    return paragraphs(text)


@pages.app_template_filter("lead_in")
def _lead_in(paragraph: str) -> tuple[str, str]:
    """Split off a short first sentence that serves as a heading ("Risks and benefits."); "" if there is none."""
    first, stop, rest = paragraph.partition(". ")
    return (first + ".", rest) if stop and len(first.split()) <= LONGEST_LEAD_IN else ("", paragraph)


@pages.app_template_filter("day")
def _day(at_us: int | None) -> str:
    """A date in words, UTC; None: today."""
    moment = datetime.now(UTC) if at_us is None else datetime.fromtimestamp(at_us / 1_000_000, UTC)
    return gettext("%(day)s %(month)s %(year)s") % {
        "day": moment.day,
        "month": gettext(MONTHS[moment.month - 1]),
        "year": moment.year,
    }


@pages.app_template_filter("duration")
def _duration(seconds: int) -> str:
    """`90` as "1 minute 30 seconds"."""
    minutes, rest = divmod(seconds, 60)
    named = [
        (minutes, ngettext("%(count)s minute", "%(count)s minutes", minutes)),
        (rest, ngettext("%(count)s second", "%(count)s seconds", rest)),
    ]
    return " ".join(name % {"count": number} for number, name in named if number)


@pages.get("/<token>")
@anybody
def link(token: str) -> Response:
    """The page of a participant's link. It changes nothing, so programs that follow links do no harm."""
    found = _of_token(token)
    with parts().database.looking_up() as session:
        row, study = services.read(session, found.id)
    languages.prefer(lambda: protocol_of(study).language)
    text = render_template("participant/link.html", title=study.title, participant=row, study=study)
    return make_response(text)


@pages.post("/<token>")
@anybody
def begin(token: str) -> AnyResponse:
    """Store the participant's token in the browser, and go to their next page."""
    _of_token(token)
    response = redirect(url_for("participant_pages.start"), HTTPStatus.SEE_OTHER)
    browser.know(response, token)
    return response


@pages.get("/")
@participant
def start() -> AnyResponse:
    """Go to the participant's next page."""
    return go_on()


@pages.get("/consent")
@participant
def consent() -> Response:
    """The consent form; after consent, its text."""
    with parts().database.looking_up() as session:
        return page("consent", here(session), gettext("Taking part"))


@pages.post("/consent")
@participant
def decide() -> AnyResponse:
    """Store the consent. If the participant declines, store nothing. Whoever had agreed before has to withdraw."""
    if request.form.get("decision") == "decline":
        with parts().database.looking_up() as session:
            undecided = here(session).step is Step.CONSENT
        if undecided:
            return browser.goodbye("declined")
        return redirect(url_for("participant_pages.withdrawal"), HTTPStatus.SEE_OTHER)
    try:
        with parts().database.writing() as session:
            version, chosen = request.form.get("version", ""), request.form.get("on_withdrawal", "")
            row = services.consent(session, caller().id, version, chosen, caller())
    except Problem as problem:
        if problem.status is not HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        with parts().database.looking_up() as session:
            return page("consent", here(session), gettext("Taking part"), problem.status, errors=errors_of(problem))
    return go_on(row)


@pages.get("/consent/copy")
@participant
def consent_copy() -> Response:
    """The text of the consent and the participant's choices, as a text file to keep."""
    with parts().database.looking_up() as session:
        at = here(session)
        response = make_response(render_template("participant/consent.txt", at=at))
    response.mimetype = "text/plain"
    response.headers["Content-Disposition"] = f'attachment; filename="consent-{at.participant.code}.txt"'
    return response


@pages.get("/questionnaire")
@participant
def questionnaire() -> AnyResponse:
    """The questionnaire."""
    with parts().database.looking_up() as session:
        at = here(session)
        if at.step is not Step.QUESTIONNAIRE:
            return lead_to(at.step)
        return page("questionnaire", at, gettext("About you"), values={}, errors={})


@pages.post("/questionnaire")
@participant
@takes(MOST_ANSWERS)
def answer() -> AnyResponse:
    """Store the answers, and enrol the participant."""
    try:
        with parts().database.writing() as session:
            row = services.answer(session, caller().id, request.form, parts().secrets, caller())
    except Problem as problem:
        if problem.status is not HTTPStatus.UNPROCESSABLE_ENTITY:
            raise
        with parts().database.looking_up() as session:
            values = {name: echo(text) for name, text in request.form.items()}
            facts = {"values": values, "errors": errors_of(problem)}
            return page("questionnaire", here(session), gettext("About you"), problem.status, **facts)
    return go_on(row)


@pages.get("/handout")
@participant
def handout() -> AnyResponse:
    """The instructions. A participant can read them again at any time."""
    with parts().database.looking_up() as session:
        at = here(session)
        if at.step in (Step.CONSENT, Step.QUESTIONNAIRE):
            return lead_to(at.step)
        return page("handout", at, gettext("Instructions"))


@pages.post("/handout")
@participant
def read_handout() -> AnyResponse:
    """Note that the participant has read the instructions."""
    with parts().database.writing() as session:
        row = services.read_handout(session, caller().id, caller())
    return go_on(row)


@pages.get("/done")
@participant
def done() -> AnyResponse:
    """The page that thanks a participant who is done."""
    with parts().database.looking_up() as session:
        at = here(session)
        return page("done", at, gettext("Thank you")) if at.step is Step.DONE else lead_to(at.step)


@pages.post("/leave")
@participant
def leave() -> AnyResponse:
    """Delete the token from the browser. The participant can come back by their link."""
    return browser.goodbye("left")


@pages.get("/goodbye")
@anybody
def goodbye() -> Response:
    """The last page for somebody who declined, withdrew or left. It uses only its address, no token."""
    why = request.args.get("why", "")
    return make_response(render_template("participant/goodbye.html", title=gettext("Goodbye"), why=why))


def _of_token(token: str) -> Caller:
    found = callers.calling(parts().database, token)
    if found is None or found.who is not Who.PARTICIPANT:
        limits.guess("enrol", {("link", limits.address()): 1})
        raise not_found()
    return found


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
    withdrawals.require_owner(parts())
    with parts().database.writing() as session:
        row = session.get_one(Participant, caller().id)
        chosen = withdrawals.withdraw(session, row, parts().secrets, caller())
    return browser.goodbye(chosen)


def _withdrawal(at: Here, errors: dict[str, str] | None = None) -> Response:
    chosen = OnWithdrawal(at.participant.on_withdrawal or OnWithdrawal.ERASE)
    status = HTTPStatus.UNPROCESSABLE_ENTITY if errors else HTTPStatus.OK
    facts = {"chosen": chosen, "word": gettext(CONFIRMATION), "errors": errors or {}}
    return page("withdraw", at, gettext("Withdraw from the study"), status, **facts)
