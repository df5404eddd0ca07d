# SPDX-License-Identifier: GPL-2.0-or-later
"""Comparing UAFPs: of different participants or applications, or of one profile at different times.

A text that can be part of an address names each UAFP:

    4HT2XC0N/torcs        a participant's profile as the last run left it
    4HT2XC0N/torcs@3      the same profile after three lessons
    7ZK3M9QA:before       the profile before a run; or :after, after the run
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from happe_study.base.codes import is_code
from happe_study.base.problems import FieldError, Problem, unprocessable
from happe_study.evidence.profiles.models import Profile, TaughtRun
from happe_study.evidence.profiles.reading import histories
from happe_study.people.participants.models import Participant
from happe_study.runs.course.models import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy.orm import Session

    from happe_study.evidence.profiles.history import History, Levels

LONGEST = 100
OF_PROFILE = re.compile(r"([0-9A-Z]{8})/([a-z0-9-]+)(?:@([0-9]{1,6}))?", re.IGNORECASE)
OF_RUN = re.compile(r"([0-9A-Z]{8}):(before|after)", re.IGNORECASE)
WORDS = "Must be CODE/application, CODE/application@LESSONS, RUN:before or RUN:after."


@dataclass(frozen=True)
class Side:
    """A participant's UAFP at a certain time. `name` is its text, as above."""

    name: str
    participant: str
    application: str
    when: str
    levels: Levels
    ladder: Levels

    @property
    def of(self) -> tuple[str, str]:
        """The participant and the application of its profile."""
        return self.participant, self.application


def told_apart(sides: Sequence[Side], names: Mapping[str, str]) -> tuple[list[str], str]:
    """A name for each side from what differs, and a text of what all sides share. `names`: applications' by key."""
    facts = [(side.participant, names.get(side.application, side.application), side.when) for side in sides]
    shared = [len(set(values)) == 1 for values in zip(*facts, strict=True)]
    if all(shared):
        shared[0] = False
    own = [" ".join(value for value, same in zip(each, shared, strict=True) if not same) for each in facts]
    return own, " ".join(value for value, same in zip(facts[0], shared, strict=True) if same)


def side(session: Session, study_id: int, field: str, text: str) -> Side:
    """The UAFP that a text names. Raises Problem 422 with the field's name if no such UAFP is known."""
    text = text.strip()
    if run := OF_RUN.fullmatch(text):
        return _of_run(session, study_id, field, run[1].upper(), run[2].lower())
    if profile := OF_PROFILE.fullmatch(text):
        lessons = None if profile[3] is None else int(profile[3])
        return _of_profile(session, study_id, field, (profile[1].upper(), profile[2].lower()), lessons)
    raise _wrong(field, WORDS)


def _of_profile(session: Session, study_id: int, field: str, of: tuple[str, str], lessons: int | None) -> Side:
    history = history_of(session, study_id, *of)
    if history is None:
        raise _wrong(field, "The study has no profile of this participant and application.")
    ladder, name = history.chapters[-1].ladder, "/".join(of)
    if lessons is None:
        return Side(name, *of, "at the end", history.levels, ladder)
    if lessons > len(history.steps):
        raise _wrong(field, f"It has {len(history.steps)} lessons.")
    levels = history.after(lessons)
    if levels is None:
        raise _wrong(field, "The record does not say what this run began with.")
    return Side(f"{name}@{lessons}", *of, f"after lesson {lessons}" if lessons else "before any lesson", levels, ladder)


def _of_run(session: Session, study_id: int, field: str, code: str, moment: str) -> Side:
    query = select(Run.application, Participant.code).join(Participant, Run.participant_id == Participant.id)
    query = query.join(TaughtRun, TaughtRun.run_id == Run.id)
    row = (
        session.execute(query.where(Participant.study_id == study_id, Run.code == code)).first()
        if is_code(code)
        else None
    )
    history = history_of(session, study_id, row.code, row.application) if row else None
    chapter = next((each for each in history.chapters if each.run == code), None) if history else None
    if row is None or chapter is None:
        raise _wrong(field, "HAPPE governed for a participant in no run of this code.")
    levels = chapter.found if moment == "before" else chapter.left
    if levels is None:
        raise _wrong(field, "The record does not say what this run began with.")
    when = f"{moment} run {code}" + (f" ({chapter.condition})" if chapter.condition else "")
    return Side(f"{code}:{moment}", row.code, row.application, when, levels, chapter.ladder)


def history_of(session: Session, study_id: int, participant: str, application: str) -> History | None:
    """The history of a participant's profile of an application; None: there is none."""
    found = profile_of(session, study_id, participant, application)
    if found is None:
        return None
    return histories(session, [found.participant_id], application).get((found.participant_id, application))


def profile_of(session: Session, study_id: int, participant: str, application: str) -> Profile | None:
    """A participant's profile of an application; None: there is none."""
    if not is_code(participant) or "\0" in application:
        return None
    mine = select(Profile).where(Profile.study_id == study_id, Profile.participant == participant)
    return session.scalars(mine.where(Profile.application == application)).one_or_none()


def _wrong(field: str, detail: str) -> Problem:
    return unprocessable("These can\N{RIGHT SINGLE QUOTATION MARK}t be compared.", FieldError(f"/{field}", detail))
