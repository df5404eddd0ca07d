# SPDX-License-Identifier: GPL-2.0-or-later
"""Erasing or de-identifying the data of a participant who withdraws.

The rows of the participant and of the runs stay, without data, because a report must say how many began and how many
left. The slot becomes free, so that the next participant completes the balance. Only a participant who has completed
every run and lets the data stay keeps the slot, and counts. The audit log keeps its entries, but loses the details
about the participant.

`erase` and `deidentify` end open sittings and delete the tokens. The caller sets the participant's state. What it
appends to the audit log afterwards must not name the participant's former code.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import delete, null, select, update
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.codes import new_code
from happe_study.base.config import Secrets
from happe_study.model.accounts import Token
from happe_study.model.audit.chain import append
from happe_study.model.audit.models import AuditDetail
from happe_study.model.audit.verify import ERASED
from happe_study.model.devices import Sitting
from happe_study.model.documents import AnalysisDocument, DocumentKind
from happe_study.model.jobs import services as jobs
from happe_study.model.participants import Participant
from happe_study.model.profiles import Profile, TaughtRun
from happe_study.model.runs import Exclusion, Run, RunRecord
from happe_study.results.exports.job import EXPORT
from happe_study.results.reports import REPORT
from happe_study.results.withdrawal.recordings import forget, only_during
from happe_study.study.checks.services import CHECKS
from happe_study.study.measuring.job import MEASURING
from happe_study.study.profiles import reviews
from happe_study.study.records.stored import opened, stored
from happe_study.study.runs import planning
from happe_study.study.runs.machine import State
from happe_study.study.sealing import SealError, open_condition, seal_condition

# A run's columns with its participant's data. Columns that identify the run in the allocation stay.
MEASURED = (
    "device_id", "started_us", "ended_us", "rating", "rated_us", "guess", "guessed_us", "record_us", "completed_us",
    "aborted_us",
)  # fmt: skip
HANDLES = ("start_id", "start_sealed", "rating_id", "guess_id", "abort_reason")  # a device could recognise the run by
FREE_TEXT = ("notes",)  # fields of a record in which the experimenter may have named people
TOLD = ("stratum", "answers")  # the participant's columns with their own answers


def erase(session: Session, participant: Participant) -> list[str]:
    """Erase all data of a participant. Returns the ids of the power traces that must leave the store after the commit.

    It erases a trace if nobody else sat at its laptop during the recording.
    """
    _forget_results(session, participant.study_id)  # first: a job locks its row, then the log's head
    runs = select(Run.id).where(Run.participant_id == participant.id)
    for table in (RunRecord, TaughtRun):
        session.execute(delete(table).where(table.run_id.in_(runs)))
    reviews.forget(session, participant.id)
    for own in (Profile, Exclusion):
        session.execute(delete(own).where(own.participant_id == participant.id))
    session.execute(update(Run).where(Run.participant_id == participant.id).values(_empty(MEASURED + HANDLES)))
    recordings = only_during(session, participant.id)
    forget(session, recordings)
    session.execute(delete(Sitting).where(Sitting.participant_id == participant.id))
    planning.release(session, participant)
    _forget_person(session, participant)
    return recordings


def deidentify(session: Session, participant: Participant, secrets: Secrets) -> None:
    """Keep the measurements under new codes, and delete answers and all free text."""
    _forget_results(session, participant.study_id)  # first, as above
    runs = session.scalars(select(Run).where(Run.participant_id == participant.id).with_for_update()).all()
    names = {run.code: new_code() for run in runs} | {participant.code: new_code()}
    for run in runs:
        _rename_run(session, run, names, secrets)
    participant.code = names[participant.code]
    open_ones = update(Sitting).where(Sitting.participant_id == participant.id, Sitting.ended_us.is_(None))
    session.execute(open_ones.values(ended_us=now_us()))
    reviews.forget(session, participant.id)
    mine = update(Profile).where(Profile.participant_id == participant.id)
    session.execute(mine.values(participant=participant.code))
    session.execute(update(Exclusion).where(Exclusion.participant_id == participant.id).values(note=None))
    if not _completed(runs):
        planning.release(session, participant)
    _forget_person(session, participant)


def _rename_run(session: Session, run: Run, names: dict[str, str], secrets: Secrets) -> None:
    """Give a run its new code, and seal its condition and its records again under that code."""
    former, code = run.code, names[run.code]
    condition = open_condition(secrets.allocation, run.code, run.condition_sealed)
    run.code, run.condition_sealed = code, seal_condition(secrets.allocation, code, condition)
    for handle in HANDLES:
        setattr(run, handle, None)
    for number in session.scalars(select(RunRecord.id).where(RunRecord.run_id == run.id)).all():
        _rename_record(session, session.get_one(RunRecord, number), former, names, secrets.allocation)


def _rename_record(session: Session, record: RunRecord, run: str, names: dict[str, str], key: bytes) -> None:
    """Replace the codes in the record of a run whose former code is `run`. Deletes a record that does not open."""
    try:
        content = opened(key, run, record.document)
    except SealError:
        session.delete(record)
        return
    client_id = str(uuid.uuid4())
    content = renamed(content, {**names, record.client_id: client_id})
    kept = stored(key, names[run], content, json.loads(content))
    record.client_id, record.document, record.digest = client_id, kept.document, kept.digest
    session.flush()
    session.expunge(record)  # frees the memory: a record can have megabytes


def renamed(content: bytes, names: Mapping[str, str]) -> bytes:
    """A record's JSON without free text, in which each key of `names` is replaced by its value in all texts."""
    record = json.loads(content)
    for field in FREE_TEXT:
        record.pop(field, None)
    return json.dumps(_renamed(record, names), separators=(",", ":"), ensure_ascii=False).encode()


def _renamed(node: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON is of any type
    if isinstance(node, dict):
        return {_renamed(name, names): _renamed(child, names) for name, child in node.items()}
    if isinstance(node, list):
        return [_renamed(child, names) for child in node]
    if isinstance(node, str):
        for name, other in names.items():
            node = node.replace(name, other)
    return node


def _completed(runs: Sequence[Run]) -> bool:
    """Whether every position has a complete run."""
    positions = {run.position for run in runs}
    return bool(positions) and positions == {run.position for run in runs if run.state == State.COMPLETE}


def _forget_person(session: Session, participant: Participant) -> None:
    """Delete the participant's tokens, answers and audit details. Appends their number to the audit log."""
    session.flush()
    session.execute(delete(Token).where(Token.participant_id == participant.id))
    session.execute(update(Participant).where(Participant.id == participant.id).values(_empty(TOLD)))
    session.refresh(participant)
    mine = AuditDetail.participant_id == participant.id
    gone = session.scalars(delete(AuditDetail).where(mine).returning(AuditDetail.number)).all()
    append(session, ERASED, None, study_id=participant.study_id, details=len(gone))


def _forget_results(session: Session, study_id: int) -> None:
    """Remove a study's reports, exports, checks and measured power. The remaining data can produce them again."""
    jobs.forget(session, study_id, (REPORT, CHECKS, MEASURING, EXPORT))
    of_study = AnalysisDocument.study_id == study_id, AnalysisDocument.kind == DocumentKind.MEASURES
    session.execute(delete(AnalysisDocument).where(*of_study))


def _empty(columns: tuple[str, ...]) -> dict[str, Any]:
    """SQL's NULL for each column. In a JSON column, None would mean JSON's null."""
    return dict.fromkeys(columns, null())
