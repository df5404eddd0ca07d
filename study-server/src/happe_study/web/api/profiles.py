# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles over HTTP: search them, read one with its lessons, review it, and download many as a file."""

from typing import Annotated, Any

from apiflask import APIBlueprint
from flask import Response, g
from pydantic import BaseModel, Field, StringConstraints
from sqlalchemy.orm import Session

from happe_study.base.fields import BINARY, PRINTABLE, Strict
from happe_study.base.parts import parts
from happe_study.base.problems import conflict, not_found
from happe_study.base.uploads import takes
from happe_study.model.profiles import Profile, ReviewKind
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.studies import Study, StudyState
from happe_study.study.profiles import downloads, reviews
from happe_study.study.profiles.history import Chapter, Step, histories, profile_of
from happe_study.study.profiles.reviews import LONGEST_NOTE, MOST_BYTES
from happe_study.study.profiles.searching import MOST_ROWS, Wanted, found
from happe_study.study.studies.services import protocol_of

api = APIBlueprint("profiles", __name__, url_prefix="/api/v1", tag="Profiles")

BLINDED = "Profiles stay sealed until the study is unblinded, because they reveal conditions."
SEALED: dict[int | str, Any] = {409: {"description": "Profiles stay sealed until the study is unblinded."}}
FLAGGED: dict[int | str, Any] = {
    409: {"description": "The study is blinded; or the profile has the flag already, or has none."}
}
DOCUMENT = {"schema": {"type": "object", "required": ["format", "f_max_khz", "profiles"]}}
FILE: dict[int | str, Any] = {
    200: {"description": "The file.", "content": {"text/csv": BINARY, "application/json": DOCUMENT}},
    409: {"description": "The study is blinded; or the profiles come from machines of different top speeds."},
}

NoteText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_NOTE, pattern=rf"^(?:{PRINTABLE}|\n)*$"),
]


class ProfileOut(BaseModel):
    """A participant's UAFP of an application, and the searchable facts of its history."""

    participant: str
    application: str
    khz: list[int]
    ladder: list[int]
    runs: int
    performance: int
    power: int
    hit_top: bool
    hit_bottom: bool
    changed: bool
    agrees: bool
    flagged: bool
    notes: int
    last_us: int | None


class ProfilesOut(BaseModel):
    """The first profiles of a search, and the number of all."""

    profiles: list[ProfileOut]
    count: int


class LessonOut(BaseModel):
    """A press, the change that it made, and the UAFP after it."""

    number: int
    since_us: int
    key: str
    policy: int
    level: int
    util_ppm: int
    cur_khz: int
    from_khz: int
    to_khz: int
    khz: list[int]


class TaughtRunOut(BaseModel):
    """A run in which HAPPE served the participant: the UAFP before and after it, and its lessons."""

    run: str
    condition: str
    attempt: int
    started_us: int | None
    before_khz: list[int]
    after_khz: list[int]
    lessons: list[LessonOut]


class ReviewOut(BaseModel):
    """A note, or the reason why somebody flagged a profile or removed the flag."""

    kind: ReviewKind
    text: str
    author: str | None
    at_us: int


class HistoryOut(ProfileOut):
    """A profile and its history."""

    taught_runs: list[TaughtRunOut]
    doubts: list[str]
    reviews: list[ReviewOut]


class ReviewIn(Strict):
    """A new note, or the reason for a flag or its removal."""

    kind: Annotated[ReviewKind, Field(strict=False)]
    text: NoteText


class Asked(Wanted):
    """A search, and how many of its profiles are wanted."""

    limit: Annotated[int, Field(ge=1, le=MOST_ROWS)] = MOST_ROWS


class FileAsked(Wanted):
    """A search, and the format of the file."""

    format: downloads.As = downloads.As.CSV


@api.get("/studies/<study>/profiles")
@staff(Right.PROFILE_READ)
@api.input(Asked, location="query")
@api.output(ProfilesOut)
@api.doc(responses=SEALED)
def list_profiles(study: str, query_data: Asked) -> dict[str, Any]:
    """List the profiles that match a search."""
    with parts().database.reading() as session:
        row = _unblinded(session, study)
        rows, count = found(session, row.id, protocol_of(row), query_data, query_data.limit)
        return {"profiles": [_shown(profile) for profile in rows], "count": count}


@api.get("/studies/<study>/profiles/<code>/<application>")
@staff(Right.PROFILE_READ)
@api.output(HistoryOut)
@api.doc(responses=SEALED)
def read_profile(study: str, code: str, application: str) -> dict[str, Any]:
    """Read a profile with its runs, lessons and reviews."""
    with parts().database.reading() as session:
        one = _profile(session, study, code, application)
        history = histories(session, [one.participant_id], application)[one.participant_id, application]
        runs = [_run(chapter, history.of_run(chapter.run)) for chapter in history.chapters]
        written = [_review(each, author) for each, author in reviews.of_profile(session, one)]
        doubts = [f"{doubt.run}: {doubt.says}" for doubt in history.doubts]
        return _shown(one) | {"taught_runs": runs, "doubts": doubts, "reviews": written}


@api.post("/studies/<study>/profiles/<code>/<application>/reviews")
@staff(Right.PROFILE_REVIEW)
@takes(MOST_BYTES)
@api.input(ReviewIn)
@api.output(ReviewOut, status_code=201)
@api.doc(responses=FLAGGED)
def review_profile(study: str, code: str, application: str, json_data: ReviewIn) -> dict[str, Any]:
    """Write a note, flag a profile, or remove its flag."""
    with parts().database.writing() as session:
        one = _profile(session, study, code, application)
        return _review(reviews.review(session, one, json_data.kind, json_data.text, caller()), caller().name)


@api.post("/studies/<study>/profiles/file")
@staff(Right.PROFILE_READ)
@api.input(FileAsked, location="query")
@api.doc(responses=FILE)
def write_profiles(study: str, query_data: FileAsked) -> Response:
    """Write the profiles that match a search to a file: CSV, or a JSON document."""
    database = parts().database
    with database.writing() as session:
        row = _unblinded(session, study)
        made = downloads.prepare(session, row, protocol_of(row), (query_data, query_data.format), caller())
    return attached(downloads.stream(database, made), made.form, made.file_name)


def _unblinded(session: Session, study: str) -> Study:
    row = session.get_one(Study, g.happe_study_ids(study))
    if row.state != StudyState.UNBLINDED:
        raise conflict("blinded", BLINDED)
    return row


def _profile(session: Session, study: str, code: str, application: str) -> Profile:
    one = profile_of(session, _unblinded(session, study).id, code, application)
    if one is None:
        raise not_found()
    return one


def _shown(profile: Profile) -> dict[str, Any]:
    own = {name: getattr(profile, name) for name in ProfileOut.model_fields}
    return own | {"last_us": profile.last_us or None}


def _run(chapter: Chapter, steps: list[Step]) -> dict[str, Any]:
    return {
        "run": chapter.run,
        "condition": chapter.condition,
        "attempt": chapter.attempt,
        "started_us": chapter.at_us,
        "before_khz": chapter.before,
        "after_khz": chapter.after,
        "lessons": [_lesson(step) for step in steps],
    }


def _lesson(step: Step) -> dict[str, Any]:
    taught = {name: value for name, value in vars(step.lesson).items() if name != "t_us"}
    return {"number": step.number, "since_us": step.since_us, **taught, "khz": step.lesson.uafp_khz}


def _review(each: Any, author: str | None) -> dict[str, Any]:  # noqa: ANN401 - a row
    return {"kind": each.kind, "text": each.text, "author": author, "at_us": each.at_us}


def attached(content: Any, form: downloads.As, name: str) -> Response:  # noqa: ANN401 - any pieces
    """Answer with a file."""
    response = Response(content)
    response.headers["Content-Type"] = downloads.MEDIA_TYPES[form]
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
