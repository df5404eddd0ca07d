# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of runs, uploaded by the laptop that ran them: checked, then kept with what follows in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from happe_study import contract
from happe_study.audit import chain
from happe_study.audit.renaming import Stored, packed
from happe_study.clock import now_us
from happe_study.codes import is_code
from happe_study.contract import Kind
from happe_study.database import table
from happe_study.faults import BadDocumentError
from happe_study.participants.models import Participant
from happe_study.problems import conflict, forbidden, not_found
from happe_study.profiles import services as profiles
from happe_study.runs import services as runs
from happe_study.runs.models import Run, RunRecord
from happe_study.runs.record import RunRecord as Content
from happe_study.runs.record import run_record
from happe_study.studies.models import Study
from happe_study.uploads import of_document

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.database import Database
    from happe_study.problems import Problem
    from happe_study.rules import Caller


@dataclass(frozen=True)
class Upload:
    """A record that keeps its contract."""

    content: Content
    stored: Stored


def read(raw: bytes, *, run: str, client_id: str) -> Upload:
    """The record in a request's body, sent to run `run`'s address as `client_id`. Raises Problem 422.

    This takes most of an upload's time, so it is done before the transaction begins: writers of SQLite wait in a row.
    """
    try:
        content = run_record(contract.check(Kind.RUN_RECORD, raw), run=run, client_id=client_id)
    except BadDocumentError as error:
        raise of_document(error) from None
    return Upload(content, packed(raw))


def receive(database: Database, upload: Upload, device: Caller) -> bool:
    """Keep a record, in a transaction of its own; whether it is new. Raises Problem as `keep` does.

    Two uploads of one id to different runs can meet where neither sees the other; the database refuses the second.
    """
    try:
        with database.writing() as session:
            return keep(session, upload, device)
    except IntegrityError:
        raise _other() from None


def keep(session: Session, upload: Upload, device: Caller) -> bool:
    """Keep the record of a run that this laptop started, and what was learned; whether it is new.

    The same bytes under the same id again: nothing more. Raises Problem: 404 the study has no such run; 403 another
    laptop started it; 409 it was never started, has another record, or the id has other bytes.
    """
    run, study = _locked(session, upload.content.run, device)
    if run.device_id is None:
        raise conflict("run-state", "No laptop has started this run.")
    if run.device_id != device.id:
        raise forbidden("Another laptop started this run.")
    if run.record_us is not None:
        return _is_other(session, run, upload)
    runs.recorded(session, run, study)
    row = {"client_id": upload.content.client_id, "sha256": upload.stored.sha256, "document": upload.stored.document}
    session.execute(_KEEP, {"run_id": run.id, "received_us": now_us(), **row})
    profiles.keep(session, run.id, upload.content)
    chain.append(
        session,
        "run.recorded",
        device,
        study_id=device.study_id,
        participant_id=run.participant_id,
        run=run.code,
        record=upload.content.client_id,
        sha256=upload.stored.sha256,
    )
    return True


_FIND = (
    select(Run, Participant, Study)
    .join(Participant, Run.participant_id == Participant.id)
    .join(Study, Participant.study_id == Study.id)
    .where(Run.code == bindparam("code"), Study.id == bindparam("study_id"))
    .with_for_update(of=[Participant, Run])
    .execution_options(populate_existing=True)
)
_KEEP = insert(table(RunRecord))


def _locked(session: Session, code: str, device: Caller) -> tuple[Run, Study]:
    """The run and its study; until the transaction ends nobody else changes a run of its participant.

    Both rows are locked, the participant's first as everywhere: what PostgreSQL waited for, it reads again.
    """
    found = session.execute(_FIND, {"code": code, "study_id": device.study_id}).first() if is_code(code) else None
    if found is None:
        raise not_found()
    run, _participant, study = found
    return run, study


def _is_other(session: Session, run: Run, upload: Upload) -> bool:
    """False: the record that the run has is this one. Raises Problem 409: it is another."""
    query = select(RunRecord.client_id, RunRecord.sha256).where(RunRecord.run_id == run.id)
    there = session.execute(query).first()
    if there is None or tuple(there) != (upload.content.client_id, upload.stored.sha256):
        raise _other()
    return False


def _other() -> Problem:
    return conflict("record", "The run has another record, or this id has other content. What came first stays.")
