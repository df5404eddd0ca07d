# SPDX-License-Identifier: GPL-2.0-or-later
"""The history of a UAFP: its state after each lesson, by the records of its runs, and contradictions between these.

Frequencies are kHz of the fastest ladder, times microseconds of a run's laptop.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from happe_study.base.codes import is_code
from happe_study.model.profiles import Profile, TaughtRun
from happe_study.model.runs import Run
from happe_study.study.protocol.conditions import T_HAPPE
from happe_study.study.records.record import Lesson

Levels = Sequence[int]


@dataclass(frozen=True)
class Chapter:
    """A run in which HAPPE served a participant: the UAFP before it, its lessons by time, and the UAFP after it.

    `at_us`: the run's start by the server's clock. Without `knew_profile` it began with an untaught UAFP.
    """

    run: str
    condition: str
    attempt: int
    at_us: int | None
    started_us: int
    ended_us: int
    ladder: Levels
    knew_profile: bool
    before: Levels
    after: Levels
    lessons: Sequence[Lesson] = ()


@dataclass(frozen=True)
class Step:
    """A lesson, numbered from 1 through all runs, and the levels before it."""

    number: int
    chapter: Chapter
    lesson: Lesson
    before: Levels

    @property
    def also(self) -> list[tuple[int, int, int]]:
        """The other levels that the lesson changed, as (level, from, to)."""
        moved = enumerate(zip(self.before, self.lesson.uafp_khz, strict=True))
        return [(at, old, new) for at, (old, new) in moved if old != new and at != self.lesson.level]

    @property
    def since_us(self) -> int:
        """The time of the lesson since the run's start, in microseconds."""
        return self.lesson.t_us - self.chapter.started_us


@dataclass(frozen=True)
class Doubt:
    """A contradiction between a run's record and earlier facts: the run, and a description."""

    run: str
    says: str


@dataclass(frozen=True)
class History:
    """A profile's runs, lessons by presses, and contradictions, in the order of the runs."""

    chapters: Sequence[Chapter]
    steps: Sequence[Step]
    doubts: Sequence[Doubt]

    @property
    def levels(self) -> Levels:
        """The UAFP as the last run left it."""
        return self.chapters[-1].after

    def of_run(self, run: str) -> list[Step]:
        """The lessons of a run."""
        return [step for step in self.steps if step.chapter.run == run]

    def after(self, number: int) -> Levels:
        """The UAFP after `number` lessons."""
        return self.steps[number - 1].lesson.uafp_khz if number else self.chapters[0].before


def told(chapters: Sequence[Chapter]) -> History:
    """The history from one or more runs of the same participant and application, in their order."""
    steps: list[Step] = []
    doubts = list(_gaps(chapters))
    for chapter in chapters:
        levels = chapter.before
        for lesson in chapter.lessons:
            step = Step(len(steps) + 1, chapter, lesson, levels)
            if lesson.from_khz != levels[lesson.level] or any(new != lesson.to_khz for _at, _old, new in step.also):
                doubts.append(Doubt(chapter.run, f"lesson {step.number} changed another profile than the run had"))
            if not lesson.probe:
                steps.append(step)
            levels = lesson.uafp_khz
    return History(chapters, steps, doubts)


def _gaps(chapters: Sequence[Chapter]) -> Iterator[Doubt]:
    """Contradictions where a run began with another UAFP than the last run left. Each T-HAPPE run begins untaught."""
    if (first := chapters[0]).knew_profile:
        yield Doubt(first.run, "it began with a profile that no earlier run left")
    for earlier, later in pairwise(chapters):
        fresh = later.condition == T_HAPPE.label and not later.knew_profile
        if not fresh and later.before != earlier.after:
            yield Doubt(later.run, f"it began with another profile than run {earlier.run} left")


Key = tuple[int, str]  # a participant's id and an application


def histories(session: Session, participants: Collection[int], application: str | None = None) -> dict[Key, History]:
    """The histories of these participants' profiles, of one application or (None) of all."""
    wanted: list[ColumnElement[bool]] = [Run.participant_id.in_(participants)]
    if application is not None:
        wanted.append(Run.application == application)
    whose = (Run.participant_id, Run.application, Run.code, Run.condition, Run.attempt, Run.started_us.label("at_us"))
    query = select(*whose, *TaughtRun.__table__.columns).join(TaughtRun, TaughtRun.run_id == Run.id).where(*wanted)
    chapters = defaultdict(list)
    for row in session.execute(query.order_by(Run.participant_id, Run.position, Run.attempt)):
        chapters[row.participant_id, row.application].append(_chapter(row))
    return {key: told(mine) for key, mine in chapters.items()}


def profile_of(session: Session, study_id: int, participant: str, application: str) -> Profile | None:
    """A participant's profile of an application; None: there is none."""
    if not is_code(participant) or "\0" in application:
        return None
    mine = select(Profile).where(Profile.study_id == study_id, Profile.participant == participant)
    return session.scalars(mine.where(Profile.application == application)).one_or_none()


def _chapter(row: Any) -> Chapter:  # noqa: ANN401 - a row
    return Chapter(
        run=row.code,
        condition=row.condition or "",
        attempt=row.attempt,
        at_us=row.at_us,
        started_us=row.started_us,
        ended_us=row.ended_us,
        ladder=row.ladder,
        knew_profile=row.knew_profile,
        before=row.before,
        after=row.after,
        lessons=[Lesson(**lesson) for lesson in row.lessons],
    )
