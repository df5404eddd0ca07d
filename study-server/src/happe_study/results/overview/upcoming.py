# SPDX-License-Identifier: GPL-2.0-or-later
"""The next participants of a study: those at a laptop, those who can begin or go on, and others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import case, func, select

from happe_study.model.devices import Device, Sitting
from happe_study.model.participants import Participant, ParticipantState
from happe_study.model.runs import Run
from happe_study.study.runs.machine import State

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.model.studies import Study

MOST_NAMED = 8
WORDS = {
    ParticipantState.CONSENTED: "has agreed, and must answer the questionnaire",
    ParticipantState.INVITED: "is invited, and must open the link and agree",
}


@dataclass(frozen=True)
class Next:
    """A participant's code, and their next step in words."""

    code: str
    words: str


def upcoming(session: Session, study: Study) -> list[Next]:
    """At most eight: those at laptops, then those who can begin or go on, then others; longest wait first."""
    order = (ParticipantState.ENROLLED, *WORDS)
    rank = case({state: number for number, state in enumerate(order)}, value=Participant.state)
    since = func.coalesce(Participant.enrolled_us, Participant.consent_us, Participant.created_us)
    here = select(Sitting.participant_id, Device.name).join(Device, Device.id == Sitting.device_id)
    seated = here.where(Device.study_id == study.id, Sitting.ended_us.is_(None)).subquery()
    columns = select(Participant.id, Participant.code, Participant.state, seated.c.name)
    mine = columns.outerjoin(seated, seated.c.participant_id == Participant.id)
    mine = mine.where(Participant.study_id == study.id, Participant.state.in_(order))
    ordered = mine.order_by(seated.c.name.is_(None), rank, since, Participant.code).limit(MOST_NAMED)
    rows = session.execute(ordered).all()
    runs = _runs(session, [row.id for row in rows])
    return [Next(row.code, _words(row.state, row.name, runs.get(row.id, (0, 0)))) for row in rows]


def _words(state: str, laptop: str | None, runs: tuple[int, int]) -> str:
    complete, every = runs
    far = f"{complete} of {every} runs complete"
    if laptop is not None:
        return f"sits at {laptop}, {far}"
    if state in WORDS:
        return WORDS[ParticipantState(state)]
    return f"can go on, {far}" if complete else "can begin the first run"


def _runs(session: Session, participants: list[int]) -> dict[int, tuple[int, int]]:
    """(complete runs, all runs without replaced ones) of these participants, by their ids."""
    complete = func.sum(case((Run.state == State.COMPLETE, 1), else_=0))
    every = func.sum(case((Run.state == State.REPLACED, 0), else_=1))
    counts = select(Run.participant_id, complete, every).where(Run.participant_id.in_(participants))
    return {who: (done, of) for who, done, of in session.execute(counts.group_by(Run.participant_id))}
