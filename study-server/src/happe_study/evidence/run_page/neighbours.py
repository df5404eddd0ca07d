# SPDX-License-Identifier: GPL-2.0-or-later
"""The runs before and after one, of its participant and of its application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import select, tuple_

from happe_study.people.participants.models import Participant
from happe_study.runs.course.models import Run

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

Pair = tuple[str | None, str | None]  # the codes before and after


def neighbours(session: Session, row: Run, participant: str) -> list[tuple[str, Pair]]:
    """The pairs, each with the name of its list."""
    code = Participant.code
    columns, own = (code, Run.position, Run.attempt), (participant, row.position, row.attempt)
    # What follows from the rest lets the database begin at the participant, and stop at the first run.
    of_participant = [Run.participant_id == row.participant_id]
    before = [Participant.study_id == row.study_id, Run.application == row.application, code <= participant]
    after = [*before[:2], code >= participant]
    return [
        ("This participant", _pair(session, of_participant, of_participant, columns, own)),
        ("This application", _pair(session, before, after, columns, own)),
    ]


def _pair(
    session: Session, before: list[Any], after: list[Any], columns: tuple[Any, ...], own: tuple[Any, ...]
) -> Pair:
    query = select(Run.code).join(Participant, Run.participant_id == Participant.id).limit(1)
    last = query.where(*before, tuple_(*columns) < own).order_by(*(each.desc() for each in columns))
    return session.scalar(last), session.scalar(query.where(*after, tuple_(*columns) > own).order_by(*columns))
