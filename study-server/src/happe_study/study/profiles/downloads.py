# SPDX-License-Identifier: GPL-2.0-or-later
"""Downloads: a search's profiles as CSV or as the document of profiles/schema, and the lessons of one profile.

The server makes a file a piece at a time, from the database as it is at one moment.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, func
from sqlalchemy.orm import Session

from happe_study.base.database import Database, at_one_moment
from happe_study.base.problems import conflict, unprocessable
from happe_study.base.tables import Column, Format, Kind, encoded
from happe_study.model.audit.chain import append
from happe_study.model.profiles import Profile
from happe_study.model.rules import Caller
from happe_study.model.studies import Study
from happe_study.study.profiles.history import History
from happe_study.study.profiles.reviews import hold_profile
from happe_study.study.profiles.searching import Wanted, matching
from happe_study.study.protocol.reading import Protocol
from happe_study.study.records.lessons import LEVELS

MOST_PROFILES = 100_000
AT_ONCE = 500
SUBJECT = "subject:"  # laptops' prefix for a participant's code


class As(StrEnum):
    """The file formats of profiles."""

    CSV = "csv"
    JSON = "json"  # profiles/schema/profile.schema.json


MEDIA_TYPES = {As.CSV: "text/csv; charset=utf-8; header=present", As.JSON: "application/json"}


@dataclass(frozen=True)
class Download:
    """A prepared download: the query, ordered by participant and application, and the highest top of the ladders."""

    query: Select[Profile]
    form: As
    f_max_khz: int
    file_name: str


def prepare(session: Session, study: Study, protocol: Protocol, asked: tuple[Wanted, As], who: Caller) -> Download:
    """Prepare a download, and write to the audit log who asked for how many profiles.

    Raises Problem 422 for more than 100,000 profiles, 409 for a JSON document if the machines' top speeds differ, since
    the document has only one.
    """
    wanted, form = asked
    query = matching(study.id, protocol, wanted)
    summed = (func.min(Profile.f_max_khz), func.max(Profile.f_max_khz), func.count())
    least, most, count = session.execute(query.with_only_columns(*summed, maintain_column_froms=True)).one()
    if count > MOST_PROFILES:
        raise unprocessable(f"These are {count} profiles. A download has at most {MOST_PROFILES}: narrow the search.")
    if form is As.JSON and least != most:
        raise conflict(
            "machines",
            "These profiles come from machines with different top speeds, but a JSON document has one top speed. "
            "Download CSV instead.",
        )
    append(session, "profile.downloaded", who, study_id=study.id, study=study.name, format=form, profiles=count)
    ordered = query.order_by(Profile.participant, Profile.application)
    named = ordered.with_only_columns(Profile.participant, Profile.application) if count == 1 else None
    of = (study.name, *session.execute(named).one()) if named is not None else (study.name,)
    return Download(ordered, form, most or 0, "-".join((*of, f"uafps.{form}")))


def stream(database: Database, download: Download) -> Iterator[bytes]:
    """The file, in pieces."""
    with database.reading() as session:
        at_one_moment(session)
        rows = _rows(session, download)
        if download.form is As.CSV:
            yield from encoded(Format.CSV, COLUMNS, map(_row, rows))
        else:
            yield from _document(download.f_max_khz, rows)


def _rows(session: Session, download: Download) -> Iterator[Profile]:
    for profile in session.scalars(download.query.execution_options(yield_per=AT_ONCE)):
        yield profile
        session.expunge(profile)


def _document(f_max_khz: int, rows: Iterator[Profile]) -> Iterator[bytes]:
    """The JSON document, with one line for each profile."""
    head = json.dumps({"format": "happe-profile/1", "f_max_khz": f_max_khz or 1, "profiles": []}, indent=1)
    start, end = head.split("[]")
    yield f"{start}[".encode()
    for number, profile in enumerate(rows):
        uafp = {"user": SUBJECT + profile.participant, "app": profile.application, "khz": profile.khz}
        yield f"{',' if number else ''}\n  {json.dumps(uafp)}".encode()
    yield f"]{end}\n".encode()


def _whole(name: str, about: str, unit: str = "") -> Column:
    return Column(name, Kind.INTEGER, about, unit)


TEN = tuple(_whole(f"khz_{level}", f"The profile's entry for level {level}.", "kHz") for level in range(LEVELS))
COLUMNS = (
    Column("participant", Kind.TEXT, "The participant's code."),
    Column("application", Kind.TEXT, "The application's key in the protocol."),
    *TEN,
    _whole("f_max_khz", "The ladder's top.", "kHz"),
    _whole("runs", "Runs that served the participant."),
    _whole("performance", "Presses of faster that taught the profile."),
    _whole("power", "Presses of save power that taught the profile."),
    *(Column(name, Kind.BOOLEAN, "") for name in ("hit_top", "hit_bottom", "changed", "agrees", "flagged")),
    _whole("notes", "How many notes there are."),
    _whole(
        "last_us",
        "When the last run that taught the profile began; 0: no run taught it.",
        "microseconds since 1970, UTC",
    ),
)
LESSONS = (
    _whole("lesson", "The lesson's number, from 1 through all runs."),
    Column("run", Kind.TEXT, "The run's code."),
    Column("condition", Kind.TEXT, "The run's condition."),
    _whole("since_us", "The time since the run began.", "microseconds"),
    Column("key", Kind.TEXT, "performance (faster) or power (save power)."),
    *(_whole(name, "") for name in ("policy", "level", "util_ppm", "cur_khz", "from_khz", "to_khz")),
    *TEN,
)


def _row(profile: Profile) -> tuple[Any, ...]:
    own = [getattr(profile, column.name) for column in COLUMNS[2 + LEVELS :]]
    return (profile.participant, profile.application, *profile.khz, *own)


def lessons(history: History) -> Iterator[bytes]:
    """The lessons of a profile as CSV, each with the profile after it."""
    return encoded(Format.CSV, LESSONS, (_lesson(history, number) for number in range(len(history.steps))))


def _lesson(history: History, number: int) -> tuple[Any, ...]:
    step = history.steps[number]
    taught = step.lesson
    about = (step.number, step.chapter.run, step.chapter.condition, step.since_us, taught.key)
    measured = (taught.policy, taught.level, taught.util_ppm, taught.cur_khz, taught.from_khz, taught.to_khz)
    return (*about, *measured, *taught.uafp_khz)


def note_lessons(session: Session, profile: Profile, who: Caller) -> None:
    """Write to the audit log who downloaded a profile's lessons. Raises the Problem of `hold_profile`."""
    hold_profile(session, profile)
    about = {"study_id": profile.study_id, "participant_id": profile.participant_id}
    append(
        session, "profile.downloaded", who, **about, participant=profile.participant, application=profile.application
    )
