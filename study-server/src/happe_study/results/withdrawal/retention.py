# SPDX-License-Identifier: GPL-2.0-or-later
"""The date after which the server erases the identities of a study's participants, and whose are left to erase.

An identity is what a de-identifying withdrawal erases: the code, the link, the answers, the free text, and the audit
log's details. Erasing skips participants who have nothing of it left, so repeating it does no harm.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.config import Secrets
from happe_study.base.database import FOR_CHANGE, Database
from happe_study.base.problems import conflict
from happe_study.model.accounts import Token
from happe_study.model.audit.chain import SERVER, append
from happe_study.model.audit.models import AuditDetail
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import Job
from happe_study.model.participants import Participant, ParticipantState
from happe_study.model.rules import Caller
from happe_study.model.studies import Study
from happe_study.results.withdrawal import erasure
from happe_study.study.runs.participation import end
from happe_study.study.studies.services import protocol_of

KIND = "erase-identities"
AT_THE_END = "the study's retention time is over"
TAKING_PART = (ParticipantState.INVITED, ParticipantState.CONSENTED, ParticipantState.ENROLLED)
SECOND_US = 1_000_000


@dataclass(frozen=True)
class Plan:
    """When the server erases identities, and of how many people. `after`: the last day that keeps them, if known."""

    days_after_unblinding: int | None
    after: date | None
    people: int
    is_due: bool


def plan(session: Session, study: Study) -> Plan | None:
    """A study's plan; None if its protocol never erases identities."""
    retention = protocol_of(study).retention
    days = retention.days_after_unblinding
    after: date | None
    if retention.until is not None:
        after = date.fromisoformat(retention.until)
    elif days is None:
        return None
    else:
        after = _day(study.unblinded_us) + timedelta(days=days) if study.unblinded_us is not None else None
    due = after is not None and _day(now_us()) > after
    return Plan(days, after, len(identified(session, study.id)), due)


def identified(session: Session, study_id: int) -> Sequence[int]:
    """The ids of participants of whom the database has a link, an answer, or a detail in the audit log."""
    linked = select(Token.participant_id).where(Token.participant_id == Participant.id)
    told = select(AuditDetail.participant_id).where(AuditDetail.participant_id == Participant.id)
    known = or_(linked.exists(), told.exists(), Participant.answers.is_not(None), Participant.stratum.is_not(None))
    query = select(Participant.id).where(Participant.study_id == study_id, known)
    return session.scalars(query.order_by(Participant.id)).all()


def erase(session: Session, participant_id: int, secrets: Secrets) -> None:
    """Erase one participant's identity. A participant who still takes part drops out."""
    participant = session.get_one(Participant, participant_id, with_for_update=True)
    if participant.state in TAKING_PART:
        end(session, participant, ParticipantState.REPLACED, AT_THE_END)
    erasure.deidentify(session, participant, secrets)


def ask(session: Session, study: Study, who: Caller | None) -> Job:
    """Start the job that erases a study's identities. Raises Problem 409: it is not due, or nothing is left."""
    session.refresh(study, with_for_update=FOR_CHANGE)
    planned = plan(session, study)
    if planned is None or not planned.is_due:
        raise conflict("retention", "The day after which identities are erased has not come.")
    if not planned.people:
        raise conflict("retention", "There is no identity left to erase.")
    if (waiting := jobs.open_one(session, KIND, study.id)) is not None:
        return waiting
    append(session, "identities.due", who, study_id=study.id, study=study.name, participants=planned.people)
    return jobs.ask(session, KIND, who.name if who else SERVER.get(), study.id)


def ask_where_due(database: Database) -> int:
    """Start the jobs of all studies that are due. Returns their number."""
    with database.reading() as session:
        due = [study.id for study in session.scalars(select(Study)) if _needs_a_job(session, study)]
    for study_id in due:
        with database.writing() as session:
            study = session.get_one(Study, study_id, with_for_update=FOR_CHANGE)
            if _needs_a_job(session, study):  # unless another worker was faster
                ask(session, study, None)
    return len(due)


def _needs_a_job(session: Session, study: Study) -> bool:
    planned = plan(session, study)
    due = planned is not None and planned.is_due and planned.people > 0
    return due and jobs.open_one(session, KIND, study.id) is None


def _day(us: int) -> date:
    return datetime.fromtimestamp(us // SECOND_US, UTC).date()
