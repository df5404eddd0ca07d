# SPDX-License-Identifier: GPL-2.0-or-later
"""The history of a UAFP: its state after each lesson, replayed by Algorithm 4, and differences from stored profiles.

Frequencies are kHz of the fastest ladder, times microseconds of a run's laptop.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from happe_study.base.codes import is_code
from happe_study.model.profiles import Profile, TaughtRun
from happe_study.model.runs import Run
from happe_study.study.protocol.conditions import T_HAPPE
from happe_study.study.records.lessons import LEVELS, learn
from happe_study.study.records.record import Lesson

Levels = tuple[int, ...]


@dataclass(frozen=True)
class Chapter:
    """A run in which HAPPE served a participant: the UAFP before it, its lessons by time, and the UAFP after it.

    `before` and `after` are None for an untaught UAFP, which has the ladder's lowest frequency at each level. With
    `warm` it may have had other levels, which the record lacks. `at_us`: the run's start by the server's clock.
    """

    run: str
    condition: str
    attempt: int
    at_us: int | None
    started_us: int
    ended_us: int
    ladder: Levels
    warm: bool
    before: Levels | None
    after: Levels | None
    lessons: tuple[Lesson, ...] = ()

    @property
    def untaught(self) -> Levels:
        """The levels of a UAFP that nobody has taught yet."""
        return (self.ladder[0],) * LEVELS

    @property
    def found(self) -> Levels | None:
        """The levels that the run began with; None if its record does not say."""
        if self.before is not None:
            return self.before
        return None if self.warm and self.lessons else self.untaught

    @property
    def left(self) -> Levels:
        """The levels that the run ended with, by its record."""
        return self.after or self.before or self.untaught


@dataclass(frozen=True)
class Step:
    """A lesson, numbered from 1 through all runs, and the levels after it; None if the levels before are unknown.

    `also`: the other levels that the lesson changed, as (level, from, to).
    """

    number: int
    chapter: Chapter
    lesson: Lesson
    levels: Levels | None
    also: tuple[tuple[int, int, int], ...] = ()

    @property
    def since_us(self) -> int:
        """The time of the lesson since the run's start, in microseconds."""
        return self.lesson.t_us - self.chapter.started_us


@dataclass(frozen=True)
class Doubt:
    """A contradiction between a run's lessons and a stored profile: the run, and a description."""

    run: str
    says: str


@dataclass(frozen=True)
class History:
    """A profile's runs, lessons and contradictions, in the order of the runs."""

    chapters: tuple[Chapter, ...]
    steps: tuple[Step, ...] = ()
    doubts: tuple[Doubt, ...] = field(default=())

    @property
    def levels(self) -> Levels:
        """The UAFP as the last run left it."""
        return self.chapters[-1].left

    def of_run(self, run: str) -> tuple[Step, ...]:
        """The lessons of a run."""
        return tuple(step for step in self.steps if step.chapter.run == run)

    def after(self, number: int) -> Levels | None:
        """The UAFP after `number` lessons; None if unknown."""
        return self.steps[number - 1].levels if number else self.chapters[0].found


def told(chapters: Sequence[Chapter]) -> History:
    """The history from one or more runs of the same participant and application, in their order."""
    steps: list[Step] = []
    doubts = list(_gaps(chapters))
    for chapter in chapters:
        mine, wrong = _taught(chapter, len(steps))
        steps += mine
        doubts += wrong
    return History(tuple(chapters), tuple(steps), tuple(doubts))


def _taught(chapter: Chapter, before: int) -> tuple[list[Step], list[Doubt]]:
    """A run's lessons as steps, after `before` earlier ones; and the contradictions in them."""
    steps: list[Step] = []
    doubts: list[Doubt] = []
    levels = chapter.found
    for number, lesson in enumerate(chapter.lessons, start=before + 1):
        if levels is not None and levels[lesson.level] != lesson.from_khz:
            says = f"lesson {number} says that level {lesson.level} was {lesson.from_khz} kHz; the lessons before it "
            doubts.append(Doubt(chapter.run, f"{says}makes that {levels[lesson.level]} kHz"))
        next_levels = None if levels is None else tuple(learn(list(levels), lesson.level, lesson.to_khz))
        steps.append(Step(number, chapter, lesson, next_levels, _also(levels, next_levels, lesson.level)))
        levels = next_levels
    if levels is not None and levels != chapter.left:
        other = ", ".join(str(at) for at in range(LEVELS) if levels[at] != chapter.left[at])
        doubts.append(
            Doubt(
                chapter.run,
                f"its lessons don\N{RIGHT SINGLE QUOTATION MARK}t lead to the profile that it left: see level {other}",
            )
        )
    return steps, doubts


def _also(before: Levels | None, after: Levels | None, taught: int) -> tuple[tuple[int, int, int], ...]:
    if before is None or after is None:
        return ()
    moved = ((level, *pair) for level, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1])
    return tuple(each for each in moved if each[0] != taught)


def _gaps(chapters: Sequence[Chapter]) -> Iterator[Doubt]:
    """Contradictions where a run began with another UAFP than the last run left. Each T-HAPPE run begins untaught."""
    if (first := chapters[0]).before is not None:
        yield Doubt(first.run, "it began with a profile that no earlier run left")
    for earlier, later in pairwise(chapters):
        fresh = later.before is None and (later.condition == T_HAPPE.label or later.warm)
        if not fresh and (later.before or later.untaught) != earlier.left:
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
        ladder=tuple(row.ladder),
        warm=row.warm,
        before=row.before and tuple(row.before),
        after=row.after and tuple(row.after),
        lessons=tuple(Lesson(**lesson) for lesson in row.lessons),
    )
