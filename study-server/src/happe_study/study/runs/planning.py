# SPDX-License-Identifier: GPL-2.0-or-later
"""Planning a participant's runs from their slot: at enrolment, and again after an aborted run. Freeing the slot."""

from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.codes import new_code
from happe_study.base.config import Secrets
from happe_study.base.database import table
from happe_study.base.problems import conflict
from happe_study.model.audit.chain import append
from happe_study.model.participants import Participant, ParticipantState
from happe_study.model.runs import Run
from happe_study.model.studies import Study, StudyState
from happe_study.study.allocation import PlannedRun
from happe_study.study.protocol.reading import Protocol
from happe_study.study.runs.machine import State
from happe_study.study.sealing import open_condition, seal_condition
from happe_study.study.studies import slots


def enrol(session: Session, participant: Participant, study: Study, protocol: Protocol, secrets: Secrets) -> None:
    """Give a participant the first free slot of their stratum, and create their runs in the slot's order.

    Sets the participant's state and `enrolled_us`. `participant.stratum` must be set (None: the study has no strata).
    On PostgreSQL concurrent transactions take different slots; on SQLite there is one writer at a time. The caller
    appends to the audit log at the end of its transaction. Raises Problem 409: `not-open` if the study is not locked
    or is unblinded, `enrolled` if the participant has a slot, `full` if no slot of the stratum is free.
    """
    with session.no_autoflush:  # to write the participant's row only once
        require_open(session, study)
        planned = slots.take(session, study, participant, secrets)
    participant.state, participant.enrolled_us = ParticipantState.ENROLLED, now_us()
    session.flush()
    session.execute(insert(table(Run)), [_run(participant, run, protocol, secrets) for run in planned])


def release(session: Session, participant: Participant) -> bool:
    """Free the slot of a participant who dropped out, for the next one of the stratum. Returns whether there was one.

    A laptop knows the conditions of started runs, and the next participant has them in the same order. So in that case
    the audit log gets an entry about the slot, which does not name the slot.
    """
    if not slots.give_back(session, participant):
        return False
    started = select(func.count()).where(Run.participant_id == participant.id, Run.state != State.PLANNED)
    if runs := session.scalar(started):
        append(session, "slot.returned", None, study_id=participant.study_id, runs_started=runs)
    return True


def another_attempt(run: Run, secrets: Secrets) -> Run:
    """A new run in place of an aborted one, with the same condition and a new code.

    The caller adds it to the session and marks the old run as replaced.
    """
    code = new_code()
    condition = open_condition(secrets.allocation, run.code, run.condition_sealed)
    return Run(
        participant_id=run.participant_id,
        study_id=run.study_id,
        code=code,
        position=run.position,
        attempt=run.attempt + 1,
        application=run.application,
        phase=run.phase,
        seconds=run.seconds,
        condition_sealed=seal_condition(secrets.allocation, code, condition),
        condition=run.condition,
        revealed_us=run.revealed_us,
    )


def require_open(session: Session, study: Study) -> None:
    """Raise Problem 409 unless the study is locked. Nobody can unblind it until the transaction ends."""
    state = session.scalar(select(Study.state).where(Study.id == study.id).with_for_update(read=True))
    if state != StudyState.LOCKED:
        raise conflict(
            "not-open", "The study does not take participants: it is not locked yet, or is already unblinded."
        )


def _run(participant: Participant, planned: PlannedRun, protocol: Protocol, secrets: Secrets) -> dict[str, Any]:
    code = new_code()
    return {
        "participant_id": participant.id,
        "study_id": participant.study_id,
        "code": code,
        "position": planned.position,
        "application": planned.application,
        "phase": planned.phase,
        "seconds": protocol.application(planned.application).seconds,
        "condition_sealed": seal_condition(secrets.allocation, code, planned.condition),
    }
