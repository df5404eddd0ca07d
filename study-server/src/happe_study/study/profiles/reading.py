# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading histories of profiles from the database."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from happe_study.base.codes import is_code
from happe_study.model.profiles import LearningEvent, Profile, TaughtRun, Uafp
from happe_study.model.runs import Run
from happe_study.study.profiles.history import Chapter, History, told
from happe_study.study.records.record import Lesson

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sqlalchemy import ColumnElement
    from sqlalchemy.orm import Session

Key = tuple[int, str]  # a participant's id and an application

LESSON = (
    LearningEvent.t_us, LearningEvent.key, LearningEvent.policy, LearningEvent.level, LearningEvent.from_khz,
    LearningEvent.to_khz, LearningEvent.cur_khz, LearningEvent.util_ppm,
)  # fmt: skip


def histories(session: Session, participants: Collection[int], application: str | None = None) -> dict[Key, History]:
    """The histories of these participants' profiles, of one application or (None) of all."""
    wanted: list[ColumnElement[bool]] = [Run.participant_id.in_(participants)]
    if application is not None:
        wanted.append(Run.application == application)
    uafps, lessons = _uafps(session, wanted), _lessons(session, wanted)
    columns = (Run.participant_id, Run.application, Run.id, Run.code, Run.condition, Run.attempt, Run.started_us)
    taught = (TaughtRun.started_us.label("from_us"), TaughtRun.ended_us, TaughtRun.ladder, TaughtRun.warm)
    query = select(*columns, *taught).join(TaughtRun, TaughtRun.run_id == Run.id).where(*wanted)
    chapters = defaultdict(list)
    for row in session.execute(query.order_by(Run.participant_id, Run.position, Run.attempt)):
        chapters[row.participant_id, row.application].append(_chapter(row, uafps[row.id], lessons[row.id]))
    return {key: told(mine) for key, mine in chapters.items()}


def profile_of(session: Session, study_id: int, participant: str, application: str) -> Profile | None:
    """A participant's profile of an application; None: there is none."""
    if not is_code(participant) or "\0" in application:
        return None
    mine = select(Profile).where(Profile.study_id == study_id, Profile.participant == participant)
    return session.scalars(mine.where(Profile.application == application)).one_or_none()


def _chapter(row: Any, uafps: dict[str, tuple[int, ...]], lessons: list[Lesson]) -> Chapter:  # noqa: ANN401 - a row
    return Chapter(
        run=row.code,
        condition=row.condition or "",
        attempt=row.attempt,
        at_us=row.started_us,
        started_us=row.from_us,
        ended_us=row.ended_us,
        ladder=tuple(row.ladder),
        warm=row.warm,
        before=uafps.get("before"),
        after=uafps.get("after"),
        lessons=tuple(lessons),
    )


def _uafps(session: Session, wanted: list[ColumnElement[bool]]) -> dict[int, dict[str, tuple[int, ...]]]:
    found: dict[int, dict[str, tuple[int, ...]]] = defaultdict(dict)
    query = select(Uafp.run_id, Uafp.moment, Uafp.khz).join(Run, Uafp.run_id == Run.id).where(*wanted)
    for run, moment, khz in session.execute(query):
        found[run][moment] = tuple(khz)
    return found


def _lessons(session: Session, wanted: list[ColumnElement[bool]]) -> dict[int, list[Lesson]]:
    found: dict[int, list[Lesson]] = defaultdict(list)
    query = select(LearningEvent.run_id, *LESSON).join(Run, LearningEvent.run_id == Run.id).where(*wanted)
    ordered: Iterable[Any] = session.execute(query.order_by(LearningEvent.run_id, LearningEvent.t_us, LearningEvent.id))
    for run, *lesson in ordered:
        found[run].append(Lesson(*lesson))
    return found
