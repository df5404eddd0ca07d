# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs before and after a run, among those of its participant and those of its application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, tuple_

from happe_study.people.participants.models import Participant
from happe_study.runs.course.models import Run

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

Pair = tuple[str | None, str | None]  # the codes before and after


def neighbours(session: Session, row: Run, participant: str) -> list[tuple[str, Pair]]:
    """(name of the list, (code before, code after)) for the participant's runs and the application's."""
    own = (row.position, row.attempt)
    of_participant = [Run.participant_id == row.participant_id]
    of_application = [Participant.study_id == row.study_id, Run.application == row.application]
    return [
        ("This participant", _pair(session, of_participant, (Run.position, Run.attempt), own)),
        (
            "This application",
            _pair(
                session,
                of_application,
                (Participant.code, Run.position, Run.attempt),
                (participant, *own),
            ),
        ),
    ]


def _pair(session: Session, within: list[Any], columns: tuple[Any, ...], place: tuple[Any, ...]) -> Pair:
    query = select(Run.code).join(Participant, Run.participant_id == Participant.id).where(*within).limit(1)
    # The tuple comparison implies the first column's bound, but SQLite needs the bound to start here in its index.
    before = query.where(columns[0] <= place[0], tuple_(*columns) < place).order_by(*(each.desc() for each in columns))
    after = query.where(columns[0] >= place[0], tuple_(*columns) > place).order_by(*columns)
    return session.scalar(before), session.scalar(after)
