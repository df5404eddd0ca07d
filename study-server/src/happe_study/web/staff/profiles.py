# SPDX-License-Identifier: GPL-2.0-or-later
"""The reviewer's pages, after unblinding: what HAPPE learned for which participant, when, from which key presses.

The address of a page contains all its choices, so that people can share links.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from flask import Blueprint, Response, g, request, url_for
from pydantic import ValidationError
from sqlalchemy.orm import Session
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.charts import Chart
from happe_study.base.parts import parts
from happe_study.base.problems import FieldError, Problem, conflict, not_found, unprocessable
from happe_study.base.uploads import takes
from happe_study.model.audit.chain import append
from happe_study.model.profiles import Profile, ReviewKind
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.studies import Study, StudyState
from happe_study.study.keys import key_name
from happe_study.study.outcomes import sees_outcomes
from happe_study.study.profiles import downloads, drawing, outcomes, reviews, services
from happe_study.study.profiles.history import History, Levels, Step, histories, profile_of
from happe_study.study.profiles.outcomes import group_of
from happe_study.study.profiles.searching import FILTERS, ORDERS, Wanted, found, levels_of, matching
from happe_study.study.protocol.conditions import Keys
from happe_study.study.protocol.reading import Protocol
from happe_study.study.records.lessons import LEVELS
from happe_study.study.studies.services import find, protocol_of, seed_of
from happe_study.study.window import around
from happe_study.web.api.profiles import BLINDED, attached
from happe_study.web.staff_page import counted, done, mistake, or_again, page, reason

pages = Blueprint("profile_pages", __name__)
pages.add_app_template_filter(key_name)
pages.add_app_template_filter(drawing.ghz)

View = TypeVar("View", bound=Callable[..., Any])
Choices = list[tuple[str, str]]

MOST_STEPS = 200  # rows of lessons on one page
MOST_DIGITS = 6
LONGEST_NAME = 100  # of a profile to compare with

# Suggested reasons for a flag; reviewers may write others.
REASONS = (
    "The ladder\N{RIGHT SINGLE QUOTATION MARK}s end limits it",
    "Presses contradict each other",
    "Too few presses",
    "Records and lessons disagree",
    "Another person or application",
)


def after_unblinding(view: View) -> View:
    """Wrap a view: for a blinded study it shows a page that says why profiles are sealed; a POST gets Problem 409."""

    @wraps(view)
    def opened(study: str, **arguments: str) -> object:
        with parts().database.reading() as session:
            row = find(session, study)
            if row.state != StudyState.UNBLINDED:
                if request.method == "POST":
                    raise conflict("blinded", BLINDED)
                return page("profiles_sealed", "Profiles", study=row)
        return view(study=study, **arguments)

    return cast("View", opened)


@pages.get("/studies/<study>/profiles")
@staff(Right.PROFILE_READ)
@after_unblinding
def profiles(study: str, problem: Problem | None = None) -> Response:
    """The list of a study's profiles, filtered and sorted; of one application with the spread of its frequencies."""
    with parts().database.reading() as session:
        row, protocol = _study(session, study)
        wanted, wrong = _asked(request.args)
        rows, count = ([], 0) if wrong else found(session, row.id, protocol, wanted)
        more: dict[str, Any] = {"rows": rows, "count": count, "wanted": wanted, "asked": wanted.said()}
        more |= {"names": _names(protocol), "drawing": drawing, "choices": _choices(protocol)}
        if rows and wanted.application:
            more["spread"] = drawing.spread(levels_of(session, matching(row.id, protocol, wanted)))
        more["people"] = [(each.email, each.email) for each in reviews.reviewers(session, row.id)]
        more["left"] = services.left(session, row.id)
        return page("profiles", "Profiles", study=row, problem=problem or wrong, **more)


def _choices(protocol: Protocol) -> dict[str, tuple[str, Choices]]:
    """The fields of the search with choices: their labels, and their values with words."""
    teach = [each.label for each in protocol.conditions if each.keys is Keys.ACT]
    found: dict[str, tuple[str, Choices]] = {
        "application": ("Application", [("", "all"), *_names(protocol).items()]),
        "sort": ("Order", [(name, said) for name, (said, _column) in ORDERS.items()]),
        "condition": ("Taught under", [("", "any condition"), *((label, label) for label in teach)]),
    }
    for name, (label, choices) in FILTERS.items():
        found[name] = (label, [("", "any"), *((value, said) for value, (said, _of) in choices.items())])
    lower = [(str(level), str(level)) for level in range(LEVELS - 1)]
    return found | {"level": ("Level", [("", "9, the highest"), *lower])}


@pages.post("/studies/<study>/profiles/assignments")
@staff(Right.PROFILE_ASSIGN)
@after_unblinding
@or_again(profiles)
def assign(study: str) -> AnyResponse:
    """Assign the profiles of a search to a reviewer, or delete all assignments."""
    do = request.form.get("do", "")
    wanted = _asked_or_refused(request.args)
    with parts().database.writing() as session:
        row, protocol = _study(session, study)
        if do == "clear":
            reviews.clear(session, row, caller())
            return done("No profile is assigned to anybody.", "profile_pages.reviewing", study=study)
        everybody = reviews.reviewers(session, row.id)
        chosen = next((each for each in everybody if each.email == request.form.get("reviewer")), None)
        if do != "assign" or chosen is None:
            raise mistake("reviewer", "Choose somebody who may review this study.")
        made = reviews.assign(session, row, matching(row.id, protocol, wanted), chosen, caller())
    return done(f"{counted(made, 'assignment')} made.", "profile_pages.profiles", study=study, **wanted.said())


@pages.get("/studies/<study>/profiles/reviews")
@staff(Right.PROFILE_READ)
@after_unblinding
def reviewing(study: str) -> Response:
    """The progress of the review, lists of profiles to review, and the agreement between reviewers."""
    with parts().database.reading() as session:
        row, protocol = _study(session, study)
        queues = [
            (text, wanted, *found(session, row.id, protocol, wanted, limit=1))
            for text, wanted in (
                ("Assigned to you, most unusual first", Wanted(marked="assigned", sort="unusual")),
                ("Not reviewed by you, most unusual first", Wanted(marked="unreviewed", sort="unusual")),
                ("Flagged", Wanted(marked="flagged")),
                ("Records and lessons disagree", Wanted(check="disagrees")),
                ("All, most unusual first", Wanted(sort="unusual")),
            )
        ]
        queues = queues if queues[0][2] else queues[1:]  # without the first if the reader has nothing assigned
        more: dict[str, Any] = {"queues": queues, "state": reviews.state(session, row.id), "names": _names(protocol)}
        return page("profile_reviews", "Reviews", study=row, trail=_above(study), **more)


@pages.get("/studies/<study>/profiles/<code>/<application>")
@staff(Right.PROFILE_READ)
@after_unblinding
def profile(study: str, code: str, application: str, problem: Problem | None = None) -> Response:
    """One profile: its levels, its history, and its reviews. `other`, CODE/application, is drawn beside it."""
    with parts().database.reading() as session:
        row, protocol = _study(session, study)
        one = _profile(session, row.id, code, application)
        history = histories(session, [one.participant_id], application)[one.participant_id, application]
        names, group = _names(protocol), group_of(session, one)
        name = names.get(application, application)
        wanted, _mistakes = _asked(request.args)
        trail = ((url_for("profile_pages.profiles", study=study, **wanted.said()), "Profiles"),)
        more: dict[str, Any] = {"profile": one, "code": code, "called": name, "history": history, "drawing": drawing}
        more |= {"reviews": reviews.of_profile(session, one), "drawing": drawing, **_at(history)}
        more |= {"asked": wanted.said(), "moment": _moment, "group": group, "reasons": REASONS}
        more |= {"verdict": reviews.verdict(session, one, caller().id)}
        more |= {"sees_outcomes": sees_outcomes(caller(), row, protocol), "reference": outcomes.reference(protocol)}
        more["outcomes"] = outcomes.outcomes(session, row, protocol, one) if more["sees_outcomes"] else []
        other, wrong = _other(session, row.id)
        sides: list[tuple[str, Levels]] = [(f"median of {group.many} profiles", group.median)]
        more["chart"] = _state(history, more["after"], other or sides)
        runs = {each.run for each in (*history.chapters, *more["outcomes"])}
        more["run_at"] = {run: url_for("run_view.run", study=study, code=run) for run in runs}
        title = f"{name}, learned for {code}"
        return page("profile", title, study=row, problem=problem or wrong, trail=trail, **more)


def _other(session: Session, study_id: int) -> tuple[list[tuple[str, Levels]], Problem | None]:
    """The profile to compare with, if the address names one, or a Problem if there is no such profile."""
    text = request.args.get("other", "")[:LONGEST_NAME].strip()
    code, _, application = text.partition("/")
    if not text:
        return [], None
    found = profile_of(session, study_id, code.upper(), application)
    if found is None:
        wrong = FieldError("/other", "Must be a participant\N{RIGHT SINGLE QUOTATION MARK}s CODE/application.")
        return [], unprocessable("There is no such profile.", wrong)
    return [(f"{found.participant}/{application}", tuple(found.khz))], None


def _state(history: History, after: int, sides: list[tuple[str, Levels]]) -> Chart:
    """The profile after so many lessons, with the profile before, and another or the median."""
    last = after == len(history.steps)
    if after and not last:
        sides = [*sides, ("before this lesson", history.after(after - 1))]
    elif after:
        sides = [*sides, ("before any lesson", history.after(0))]
    now = history.levels if last else history.after(after)
    name = "at the end" if last else f"after lesson {after}"
    return drawing.steps("profile", "Frequency by level", [*sides, (name, now)], history.chapters[-1].ladder)


@pages.post("/studies/<study>/profiles/<code>/<application>")
@staff(Right.PROFILE_REVIEW)
@takes(reviews.MOST_BYTES)
@after_unblinding
@or_again(profile)
def review(study: str, code: str, application: str) -> AnyResponse:
    """Write a note, pass or flag a profile, or take its flag away. After a verdict the next of the list is shown."""
    if (do := request.form.get("do", "")) not in set(ReviewKind):
        raise mistake("do", "This page has no such action.")
    kind = ReviewKind(do)
    text = _text(kind)
    wanted, _mistakes = _asked(request.args)
    with parts().database.writing() as session:
        row, protocol = _study(session, study)
        one = _profile(session, row.id, code, application)
        reviews.review(session, one, kind, text, caller())
        said = SAID[kind].format(f"{_names(protocol).get(one.application, one.application)} of {one.participant}")
        following = one
        if wanted.marked in {"unreviewed", "assigned"} and kind in {ReviewKind.FLAG, ReviewKind.PASS}:
            session.flush()
            rows, count = found(session, row.id, protocol, wanted, limit=1)
            said += f" Your list has {counted(count, 'profile')} left." if count else " Your list has none left."
            following = rows[0] if rows else one
        there = {"study": study, "code": following.participant, "application": following.application}
    return done(said, "profile_pages.profile", **there, **wanted.said())


SAID = {
    ReviewKind.NOTE: "The note on {} is saved.",
    ReviewKind.FLAG: "{} is flagged.",
    ReviewKind.UNFLAG: "{} is no longer flagged.",
    ReviewKind.PASS: "{} is passed.",
}


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
    wanted = _asked_or_refused(asked)
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


def _asked_or_refused(values: MultiDict[str, str]) -> Wanted:
    wanted, problem = _asked(values)
    if problem:
        raise problem
    return wanted


def _study(session: Session, name: str) -> tuple[Study, Protocol]:
    row = session.get_one(Study, g.happe_study_ids(name))
    return row, protocol_of(row)


def _profile(session: Session, study_id: int, code: str, application: str) -> Profile:
    one = profile_of(session, study_id, code, application)
    if one is None:
        raise not_found("There is no profile of this participant and application.")
    return one


def _names(protocol: Protocol) -> dict[str, str]:
    return {one.key: one.name for one in protocol.applications}


def _moment(step: Step) -> dict[str, str]:
    """The address parameters of the seconds around a lesson, on the page of its run."""
    length = (step.chapter.ended_us - step.chapter.started_us) / drawing.SECOND_US
    return around(step.since_us / drawing.SECOND_US, length)


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
    return _note() if kind is ReviewKind.NOTE else reason()


def _note() -> str:
    """The note in the form: lines of text."""
    text = request.form.get("note", "").replace("\r\n", "\n").strip()
    if not 1 <= len(text) <= reviews.LONGEST_NOTE:
        raise mistake("note", f"Must have 1 to {reviews.LONGEST_NOTE} characters." if text else "Fill this in.")
    if not all(letter.isprintable() or letter == "\n" for letter in text):
        raise mistake("note", "The note must be text.")
    return text
