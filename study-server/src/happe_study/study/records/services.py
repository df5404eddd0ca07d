# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of runs, uploaded by laptops: one transaction stores the record, the run's state and the audit entry."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_contract.schemas import Kind
from happe_study.base.clock import now_us
from happe_study.base.codes import is_code
from happe_study.base.database import FOR_CHANGE, Database
from happe_study.base.problems import Problem, conflict, forbidden, not_found
from happe_study.base.uploads import of_document
from happe_study.model.audit.chain import append
from happe_study.model.participants import Participant
from happe_study.model.rules import Caller
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Study
from happe_study.study.records.record import RunRecord as Content
from happe_study.study.records.record import run_record
from happe_study.study.records.stored import Stored, sha256, stored
from happe_study.study.runs import services as runs


@dataclass(frozen=True)
class Upload:
    """A valid record, ready for storing. `sha256` is the digest of the bytes that the laptop sent."""

    content: Content
    stored: Stored
    sha256: str


def read(raw: bytes, key: bytes, *, run: str, client_id: str) -> Upload:
    """Check and seal the record in a request's body, sent to run `run`'s address as `client_id`. Raises Problem 422.

    This takes most of an upload's time, so it comes before the transaction, in which other writers of SQLite wait.
    """
    try:
        document = schemas.read(Kind.RUN_RECORD, raw)
        content = run_record(document, run=run, client_id=client_id)
    except BadDocumentError as error:
        raise of_document(error) from None
    return Upload(content, stored(key, run, raw, document), sha256(raw))


def receive(database: Database, upload: Upload, device: Caller) -> bool:
    """Store a record in a transaction. Returns whether it is new. Raises the Problems of `keep`.

    If two transactions upload one id to different runs at the same time, neither sees the other; the database refuses
    the second.
    """
    try:
        with database.writing() as session:
            return keep(session, upload, device)
    except IntegrityError:
        raise _other() from None


def keep(session: Session, upload: Upload, device: Caller) -> bool:
    """Store the record of a run that this laptop started. Returns whether it is new.

    A record that is stored already, with the same id and bytes, is not new. Raises Problems: 404 the study has no such
    run; 403 another laptop started it; 409 it was never started, has another record, or the id has other bytes.
    """
    run, study = _locked(session, upload.content.run, device)
    _require_starter(run, device)
    if run.record_us is not None:
        mine = RunRecord.run_id == run.id, RunRecord.client_id == upload.content.client_id
        if session.scalar(select(RunRecord.digest).where(*mine)) == upload.stored.digest:
            return False
        raise _other()
    runs.recorded(session, run, study)
    session.add(
        RunRecord(
            run_id=run.id,
            client_id=upload.content.client_id,
            digest=upload.stored.digest,
            document=upload.stored.document,
            received_us=now_us(),
        )
    )
    said = {"run": run.code, "record": upload.content.client_id, "digest": upload.stored.digest}
    append(session, "run.recorded", device, study_id=study.id, participant_id=run.participant_id, **said)
    return True


def _locked(session: Session, code: str, device: Caller) -> tuple[Run, Study]:
    """The run with a code and its study. Locks the participant, then the run. Raises Problem 404."""
    query = (
        select(Run, Study)
        .join(Participant, Run.participant_id == Participant.id)
        .join(Study, Participant.study_id == Study.id)
        .where(Run.code == code, Study.id == device.study_id)
        .with_for_update(of=[Participant, Run], **FOR_CHANGE)
    )
    found = session.execute(query).one_or_none() if is_code(code) else None
    if found is None:
        raise not_found()
    run, study = found
    return run, study


def _require_starter(run: Run, device: Caller) -> None:
    if run.device_id is None:
        raise conflict("run-state", "No laptop has started this run.")
    if run.device_id != device.id:
        raise forbidden("Another laptop started this run.")


def _other() -> Problem:
    return conflict(
        "record", "The server has another record of this run, or another record under this id. It keeps the first one."
    )
