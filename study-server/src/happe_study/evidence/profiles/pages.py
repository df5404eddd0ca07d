# SPDX-License-Identifier: GPL-2.0-or-later
"""The reviewer's pages, after unblinding: what HAPPE learned for which participant, when, from which key presses.

The address of a page contains all its choices, so that people can share links.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from flask import Blueprint, Response, g, request, url_for
from pydantic import ValidationError

from happe_study.access.rights import Right
from happe_study.access.rules import caller, staff
from happe_study.access.staff_page import counted, done, field, mistake, or_again, page
from happe_study.audit.chain import append
from happe_study.base.codes import is_code
from happe_study.base.parts import parts
from happe_study.base.problems import FieldError, Problem, conflict, not_found, unprocessable
from happe_study.base.uploads import takes
from happe_study.design.study import Study, StudyState
from happe_study.evidence.keys import key_name
from happe_study.evidence.outcomes import sees_outcomes
from happe_study.evidence.profiles import (
    assignments,
    choices,
    comparing,
    downloads,
    drawing,
    outcomes,
    reviews,
    services,
    words,
)
from happe_study.evidence.profiles.choices import REASONS
from happe_study.evidence.profiles.group import group_of
from happe_study.evidence.profiles.models import Profile, ReviewKind
from happe_study.evidence.profiles.reading import histories
from happe_study.evidence.profiles.searching import (
    LONGEST_CURSOR,
    Found,
    Part,
    Wanted,
    beside,
    found,
    levels_of,
    matching,
)
from happe_study.evidence.window import around
from happe_study.studies.services import protocol_of, seed_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row
    from sqlalchemy.orm import Session
    from werkzeug.datastructures import MultiDict
    from werkzeug.wrappers import Response as AnyResponse

    from happe_study.design.protocol.reading import Protocol
    from happe_study.evidence.profiles.history import History, Step

pages = Blueprint("profile_pages", __name__)
pages.add_app_template_filter(key_name)

Pair = tuple["Profile | None", "Profile | None"]  # before and after
View = TypeVar("View", bound=Callable[..., Any])

MOST_STEPS = 200  # rows of lessons on one page
MOST_DIGITS = 6
BLINDED = "Profiles stay sealed until the study is unblinded, because they reveal conditions."
NO_PARTICIPANT = "HAPPE learned nothing for this participant, or no participant has this code."
NONE_SUCH = Found([], None, 0)


def after_unblinding(view: View) -> View:
    """Wrap a view: for a blinded study it shows a page that says why profiles are sealed; a POST gets Problem 409."""

    @wraps(view)
    def opened(study: str, **arguments: str) -> object:
        with parts().database.reading() as session:
            row = session.get_one(Study, g.happe_study_ids(study))
            if row.state != StudyState.UNBLINDED:
                if request.method == "POST":
                    raise conflict("blinded", BLINDED)
                return page("evidence/profiles_sealed", "Profiles", study=row)
        return view(study=study, **arguments)

    return cast("View", opened)


@pages.get("/studies/<study>/profiles")
@staff(Right.PROFILE_READ)
@after_unblinding
def profiles(study: str) -> Response:
    """The list of a study's profiles, searched and sorted."""
    with parts().database.reading() as session:
        row, protocol = _study(session, study)
        wanted, problem = _asked(request.args)
        rows = NONE_SUCH if problem else found(session, row.id, protocol, wanted, _part())
        more = _facts(protocol, wanted) | {"found": rows, "left": services.left(session, row.id)}
        return page("evidence/profiles", "Profiles", study=row, problem=problem, **more)


@pages.get("/studies/<study>/profiles/map")
@staff(Right.PROFILE_READ)
@after_unblinding
def heat_map(study: str) -> Response:
    """A heat map of one application's profiles, over all participants."""
    with parts().database.reading() as session:
        row, protocol = _study(session, study)
        wanted, problem = _asked(request.args)
        wanted = wanted.model_copy(update={"application": wanted.application or protocol.applications[0].key})
        levels = [] if problem else levels_of(session, matching(row.id, protocol, wanted))
        count = sum(many for _levels, many in levels)
        rows = NONE_SUCH if problem else found(session, row.id, protocol, wanted, _part(), count=count)
        name = _names(protocol).get(wanted.application, wanted.application)
        chart = drawing.spread("spread", f"{name}: percentage of profiles by frequency", levels)
        more = _facts(protocol, wanted, every=False) | {"found": rows, "chart": chart, "called": name}
        return page("evidence/profile_map", f"Map of {name}", study=row, problem=problem, trail=_above(study), **more)


@pages.get("/studies/<study>/profiles/comparison")
@staff(Right.PROFILE_READ)
@after_unblinding
def comparison(study: str) -> Response:
    """A chart of two to eight profiles, or of one profile at several times. Each parameter `profile` names one."""
    ticked = [text[: comparing.LONGEST] for text in request.args.getlist("profile")][: drawing.MOST_SIDES + 1]
    fields = {name: request.args.get(name, "")[: comparing.LONGEST] for name in ("one", "other")}
    texts = {f"profile-{number}": text for number, text in enumerate(ticked, start=1)} or fields
    with parts().database.reading() as session:
        row, protocol = _study(session, study)
        sides, problem = _sides(session, row.id, texts)
        if len(ticked) > drawing.MOST_SIDES:
            sides, problem = [], unprocessable(f"At most {drawing.MOST_SIDES} profiles can be compared.")
        more: dict[str, Any] = {"texts": fields, "sides": sides, "names": _names(protocol), "ghz": words.ghz}
        if len(sides) == len(texts):
            more["called"], shared = comparing.told_apart(sides, more["names"])
            named = [(name, side.levels) for name, side in zip(more["called"], sides, strict=True)]
            ladder = sorted({khz for side in sides for khz in side.ladder})
            title = f"Frequency by level{': ' if shared else ''}{shared}"
            more["chart"] = drawing.steps("both", title, named, ladder)
        return page(
            "evidence/profile_comparison", "Compare profiles", study=row, problem=problem, trail=_above(study), **more
        )


@pages.get("/studies/<study>/profiles/reviews")
@staff(Right.PROFILE_READ)
@after_unblinding
def reviewing(study: str, problem: Problem | None = None) -> Response:
    """The progress of the review, lists of profiles to review, and the agreement between reviewers."""
    with parts().database.reading() as session:
        row, protocol = _study(session, study)
        queues = [
            (text, wanted, found(session, row.id, protocol, wanted, Part(limit=1)))
            for text, wanted in (
                ("Assigned to you, most unusual first", Wanted(marked="assigned", sort="unusual")),
                ("Not reviewed by you, most unusual first", Wanted(marked="unreviewed", sort="unusual")),
                ("Flagged", Wanted(marked="flagged")),
                ("Records and lessons disagree", Wanted(check="disagrees")),
                ("All, most unusual first", Wanted(sort="unusual")),
            )
        ]
        queues = queues if queues[0][2].rows else queues[1:]  # without the first if the reader has nothing assigned
        more: dict[str, Any] = {"queues": queues, "state": reviews.state(session, row.id), "names": _names(protocol)}
        more["people"] = assignments.reviewers(session, row.id)
        return page("evidence/profile_reviews", "Reviews", study=row, problem=problem, trail=_above(study), **more)


@pages.post("/studies/<study>/profiles/assignments")
@staff(Right.PROFILE_ASSIGN)
@after_unblinding
@or_again(reviewing)
def assign(study: str) -> AnyResponse:
    """Assign every profile to reviewers, or delete all assignments."""
    do = request.form.get("do", "")
    if do not in {"deal", "clear"}:
        raise mistake("do", "This page has no such action.")
    with parts().database.writing() as session:
        row = session.get_one(Study, g.happe_study_ids(study))
        if do == "clear":
            assignments.clear(session, row, caller())
            return done("No profile is assigned to anybody.", "profile_pages.reviewing", study=study)
        made = assignments.deal(session, row, *_dealt(assignments.reviewers(session, row.id)), caller())
    return done(f"{counted(made, 'assignment')} made.", "profile_pages.reviewing", study=study)


def _dealt(everybody: Sequence[Row[int, str]]) -> tuple[dict[int, str], int]:
    """The reviewers chosen in the form (addresses by id), and how many of them should review each profile."""
    ticked = set(request.form.getlist("reviewer"))
    people = {account_id: email for account_id, email in everybody if email in ticked}
    if not people or len(people) < len(ticked):
        raise mistake("reviewer", "Tick people who may review this study.")
    each = request.form.get("each", "")
    if each not in map(str, range(1, len(people) + 1)):
        raise mistake("each", f"Must be a number from 1 to {len(people)}, the number of people ticked.")
    return people, int(each)


@pages.get("/studies/<study>/profiles/<code>")
@staff(Right.PROFILE_READ)
@after_unblinding
def participant(study: str, code: str) -> Response:
    """All profiles of one participant."""
    with parts().database.reading() as session:
        row, protocol = _study(session, study)
        if not is_code(code):
            raise not_found(NO_PARTICIPANT)
        wanted = Wanted(participant=code)
        rows = found(session, row.id, protocol, wanted, _part())
        if not rows.rows:
            raise not_found(NO_PARTICIPANT)
        facts = _facts(protocol, wanted) | {"found": rows, "code": code}
        return page("evidence/profile_participant", f"Profiles of {code}", study=row, trail=_above(study), **facts)


@pages.get("/studies/<study>/profiles/<code>/<application>")
@staff(Right.PROFILE_READ)
@after_unblinding
def profile(study: str, code: str, application: str, problem: Problem | None = None) -> Response:
    """One profile: its levels, its history, and its reviews."""
    with parts().database.reading() as session:
        row, protocol = _study(session, study)
        one = _profile(session, row.id, code, application)
        history = histories(session, [one.participant_id], application)[one.participant_id, application]
        names = _names(protocol)
        name = names.get(application, application)
        wanted, _mistakes = _asked(request.args)
        asked = _asked_here(wanted)
        list_address = url_for("profile_pages.profiles", study=study, **asked)
        trail = ((list_address, "Profiles"), (url_for("profile_pages.participant", study=study, code=code), code))
        more: dict[str, Any] = {"profile": one, "code": code, "called": name, "history": history, "words": words}
        more |= {"reviews": reviews.of_profile(session, one), "drawing": drawing, **_at(history), "asked": asked}
        more |= {"beside": _beside(session, row, one, wanted), "moment": _moment, "names": names}
        more |= {"group": group_of(session, one), "verdict": reviews.verdict(session, one, caller().id)}
        more |= {"reasons": REASONS, "sees_outcomes": sees_outcomes(caller(), row, protocol)}
        more["outcomes"] = outcomes.outcomes(session, row, protocol, one) if more["sees_outcomes"] else []
        more["reference"] = outcomes.reference(protocol)
        runs = {each.run for each in (*history.chapters, *more["outcomes"])}
        more["run_at"] = {run: url_for("run_view.run", study=study, code=run) for run in runs}
        return page("evidence/profile", f"{name}, learned for {code}", study=row, problem=problem, trail=trail, **more)


@pages.post("/studies/<study>/profiles/<code>/<application>")
@staff(Right.PROFILE_REVIEW)
@takes(reviews.MOST_BYTES)
@after_unblinding
@or_again(profile)
def review(study: str, code: str, application: str) -> AnyResponse:
    """Write a note, pass or flag a profile, or take its flag away."""
    if (do := request.form.get("do", "")) not in set(ReviewKind):
        raise mistake("do", "This page has no such action.")
    kind = ReviewKind(do)
    text = _text(kind)
    wanted, _mistakes = _asked(request.args)
    with parts().database.writing() as session:
        row, protocol = _study(session, study)
        one = _profile(session, row.id, code, application)
        following = beside(session, row.id, protocol, wanted, one)[1] if wanted.said() else None
        reviews.review(session, one, kind, text, caller())
        then = following if following and kind in {ReviewKind.FLAG, ReviewKind.PASS} else one
        there = {"study": study, "code": then.participant, "application": then.application, **_asked_here(wanted)}
        said = SAID[kind].format(f"{_names(protocol).get(one.application, one.application)} of {one.participant}")
        said += _left(session, row.id, protocol, wanted)
    return done(said, "profile_pages.profile", **there)


SAID = {
    ReviewKind.NOTE: "The note on {} is saved.",
    ReviewKind.FLAG: "{} is flagged.",
    ReviewKind.UNFLAG: "{} is no longer flagged.",
    ReviewKind.PASS: "{} is passed.",
}


def _left(session: Session, study_id: int, protocol: Protocol, wanted: Wanted) -> str:
    """A sentence with the number of profiles left; empty for a list in which reviewed profiles stay."""
    if wanted.marked not in {"unreviewed", "assigned"}:
        return ""
    count = found(session, study_id, protocol, wanted, Part(limit=1)).count
    return f" Your list has {counted(count, 'profile')} left." if count else " Your list has none left."


@pages.post("/studies/<study>/profiles/<code>/<application>/lessons")
@staff(Right.PROFILE_READ)
@after_unblinding
def lessons(study: str, code: str, application: str) -> Response:
    """The lessons of one profile as CSV."""
    with parts().database.writing() as session:
        one = _profile(session, g.happe_study_ids(study), code, application)
        history = histories(session, [one.participant_id], application)[one.participant_id, application]
        downloads.note_lessons(session, one, caller())
    return attached(downloads.lessons(history), downloads.As.CSV, f"{study}-{code}-{application}-lessons.csv")


@pages.post("/studies/<study>/profiles/download")
@staff(Right.PROFILE_READ)
@after_unblinding
def download(study: str) -> Response:
    """The profiles that the search finds, as a file."""
    asked = request.form.copy()
    form = asked.pop("format", "")
    asked.pop("csrf_token", None)
    if form not in set(downloads.As):
        raise mistake("format", "Must be csv or json.")
    wanted, problem = _asked(asked)
    if problem:
        raise problem
    database = parts().database
    with database.writing() as session:
        row, protocol = _study(session, study)
        made = downloads.prepare(session, row, protocol, (wanted, downloads.As(form)), caller())
    return attached(downloads.stream(database, made), made.form, made.file_name)


@pages.post("/studies/<study>/profiles/take-in")
@staff(Right.PROFILE_READ)
@after_unblinding
def take_in(study: str) -> AnyResponse:
    """Read the lessons from records that arrived, or were restored, after the unblinding."""
    with parts().database.writing() as session:
        row, _protocol = _study(session, study)
        seed_of(row, parts().secrets)  # another key would find every record damaged
        taken = services.take_out(session, row.id, parts().secrets)
        append(session, "records.opened", caller(), study_id=row.id, study=row.name, records=taken.records)
    said = f"The server has read {counted(taken.records, 'record')}."
    if taken.unreadable:
        said += f" It can\N{RIGHT SINGLE QUOTATION MARK}t read {counted(len(taken.unreadable), 'record')}."
    return done(said, "profile_pages.profiles", study=study)


def attached(content: Any, form: downloads.As, name: str) -> Response:  # noqa: ANN401 - any pieces
    """Answer with a file."""
    response = Response(content)
    response.headers["Content-Type"] = downloads.MEDIA_TYPES[form]
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def wanted_of(values: dict[str, Any]) -> Wanted:
    """The search in the fields of a form. Raises Problem 422 with every mistake."""
    try:
        return Wanted.model_validate({name: values[name] for name in Wanted.model_fields if name in values})
    except ValidationError as error:
        wrong = [FieldError(f"/{each['loc'][0]}", WORDS.get(str(each["loc"][0]), NO_CHOICE)) for each in error.errors()]
        raise unprocessable("This list of profiles does not exist.", *wrong) from None


WORDS = {
    "level": "Must be a level from 0 to 9.",
    "above_mhz": "Must be a whole number of MHz, at most 20000.",
    "q": "Must have at most 100 characters.",
}
NO_CHOICE = "Must be one of the choices."


def _asked(values: MultiDict[str, str]) -> tuple[Wanted, Problem | None]:
    """The search in an address or form. If it has mistakes, the search without the wrong fields, and a Problem."""
    said = {name: value for name, value in values.items() if value}
    try:
        return wanted_of(said), None
    except Problem as problem:
        wrong = {error.pointer.removeprefix("/") for error in problem.errors}
        return wanted_of({name: value for name, value in said.items() if name not in wrong}), problem


def _part() -> Part:
    cursor = request.args.get("cursor", "")
    return Part(cursor=cursor[:LONGEST_CURSOR] or None)


def _study(session: Session, name: str) -> tuple[Study, Protocol]:
    row = session.get_one(Study, g.happe_study_ids(name))
    return row, protocol_of(row)


def _profile(session: Session, study_id: int, code: str, application: str) -> Profile:
    one = comparing.profile_of(session, study_id, code, application)
    if one is None:
        raise not_found("There is no profile of this participant and application.")
    return one


def _facts(protocol: Protocol, wanted: Wanted, *, every: bool = True) -> dict[str, Any]:
    """The template's values for a list. With `every`, its form offers all applications together."""
    often = [choices.applications(protocol, every=every), choices.ORDER]
    facts = {"wanted": wanted, "names": _names(protocol), "often": often, "seldom": choices.seldom(protocol)}
    return facts | {"drawing": drawing, "words": words, "asked": _asked_here(wanted)}


def _names(protocol: Protocol) -> dict[str, str]:
    return {one.key: one.name for one in protocol.applications}


def _sides(session: Session, study_id: int, texts: dict[str, str]) -> tuple[list[comparing.Side], Problem | None]:
    """The profiles that the texts name, and a Problem with all mistakes, or None."""
    sides: list[comparing.Side] = []
    wrong: list[FieldError] = []
    for name, text in texts.items():
        try:
            sides += [comparing.side(session, study_id, name, text)] if text.strip() else []
        except Problem as problem:
            wrong += problem.errors
    return sides, unprocessable("At least one of them can't be found.", *wrong) if wrong else None


def _beside(session: Session, study: Study, one: Profile, wanted: Wanted) -> list[tuple[str, Pair]]:
    """The profiles before and after this one, in each list that a reader may page through."""
    lists = [("This participant", Wanted(participant=one.participant))]
    lists.append(("This application", Wanted(application=one.application)))
    if wanted.said():
        lists.append(("Your list", wanted))
    protocol = protocol_of(study)
    return [(text, beside(session, study.id, protocol, those, one)) for text, those in lists]


def _asked_here(wanted: Wanted) -> dict[str, Any]:
    """The address parameters of a list and its page, so that links lead back to the same page."""
    cursor = _part().cursor
    return wanted.said() | ({"cursor": cursor} if cursor else {})


def _moment(step: Step) -> dict[str, str]:
    """The address parameters of the seconds around a lesson, on the page of its run."""
    length = (step.chapter.ended_us - step.chapter.started_us) / words.SECOND_US
    return around(step.since_us / words.SECOND_US, length)


def _at(history: History) -> dict[str, Any]:
    """The lesson that the page shows, and the lessons near it.

    The parameter `after` counts from the first lesson of `run`, or without `run` from the profile's first lesson. The
    default is the last lesson.
    """
    every = len(history.steps)
    text = request.args.get("after", "")
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else every
    mine = history.of_run(request.args.get("run", ""))
    after = min(number + (mine[0].number - 1 if mine else 0), every)
    first = max(0, min(after - MOST_STEPS // 2, every - MOST_STEPS))
    return {"after": after, "shown": history.steps[first : first + MOST_STEPS]}


def _above(study: str) -> tuple[tuple[str, str], ...]:
    return ((url_for("profile_pages.profiles", study=study), "Profiles"),)


def _text(kind: ReviewKind) -> str:
    """The text of a review: a note, or a reason; empty for a pass."""
    if kind is ReviewKind.PASS:
        return ""
    return _note() if kind is ReviewKind.NOTE else field("reason", longest=reviews.LONGEST_REASON, what="The reason")


def _note() -> str:
    """The note in the form: lines of text."""
    text = request.form.get("note", "").replace("\r\n", "\n").strip()
    if not 1 <= len(text) <= reviews.LONGEST_NOTE:
        raise mistake("note", f"Must have 1 to {reviews.LONGEST_NOTE} characters." if text else "Fill this in.")
    if not all(letter.isprintable() or letter == "\n" for letter in text):
        raise mistake("note", "The note must be text.")
    return text
