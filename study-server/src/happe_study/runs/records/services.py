# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of runs, uploaded by laptops: one transaction stores the record, the run's state and the audit entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_contract.schemas import Kind
from happe_study.audit import chain
from happe_study.base.clock import now_us
from happe_study.base.codes import is_code
from happe_study.base.database import FOR_CHANGE, table
from happe_study.base.problems import Problem, conflict, forbidden, not_found
from happe_study.base.together import MOST, Together
from happe_study.base.uploads import of_document
from happe_study.design.allocation.sealing import record_digest
from happe_study.design.study import Study
from happe_study.people.participants.models import Participant
from happe_study.runs.course import services as runs
from happe_study.runs.course.models import Run, RunRecord
from happe_study.runs.records.record import RunRecord as Content
from happe_study.runs.records.record import run_record
from happe_study.runs.records.stored import Stored, room, sealed, sha256
from happe_study.studies.services import protocol_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy.orm import Session

    from happe_study.access.rules import Caller
    from happe_study.base.database import Database


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
    plain = sha256(raw)
    return Upload(content, Stored(sealed(key, run, raw, room(document)), record_digest(key, plain)), plain)


def receive(database: Database, upload: Upload, device: Caller) -> bool:
    """Store a record, in one transaction with others that come at the same time. Returns whether it is new.

    Raises the Problems of `keep_all`. If two transactions upload one id to different runs at the same time, neither
    sees the other; the database refuses the second.
    """
    try:
        return _inbox(database).result((upload, device))
    except IntegrityError:
        raise _other() from None


def keep_all(session: Session, arrived: Sequence[tuple[Upload, Caller]]) -> list[bool | Exception]:
    """Store records of runs that these laptops started. Returns for each whether it is new, or a Problem.

    A record that is stored already, with the same id and bytes, is not new. Problems: 404 the study has no such run;
    403 another laptop started it; 409 it was never started, has other records, or the id has other bytes. A run at home
    has a record for each piece, and counts as recorded when it has all of them.
    """
    there = _locked(session, {upload.content.run for upload, _device in arrived})
    new: list[_New] = []
    outcomes = [_outcome(session, there, each, new) for each in arrived]
    if new:
        _write(session, new)
    return outcomes


_Identity = tuple[str, str]  # the id and the digest, which are equal if the same record comes again


@dataclass(frozen=True)
class _New:
    """A record to store."""

    run: Run
    upload: Upload
    device: Caller
    last: bool  # whether the run has all its records now

    @property
    def identity(self) -> _Identity:
        return self.upload.content.client_id, self.upload.stored.digest


_FIND = (
    select(Run, Study)
    .join(Participant, Run.participant_id == Participant.id)
    .join(Study, Participant.study_id == Study.id)
    .where(Run.code.in_(bindparam("codes", expanding=True)))
    .order_by(Participant.id, Run.id)
    .with_for_update(of=[Participant, Run], **FOR_CHANGE)
    .execution_options(populate_existing=True)
)
_KEEP = insert(table(RunRecord)).inline()  # without RETURNING the new id
_CHANGED = ("state", "record_us", "ended_us", "completed_us", "start_sealed")
_MARK = (
    update(table(Run))
    .where(table(Run).c.id == bindparam("run"))
    .values({name: bindparam(f"to_{name}") for name in _CHANGED})
)
_INBOXES: WeakKeyDictionary[Database, Together[tuple[Upload, Caller], bool]] = WeakKeyDictionary()


def _inbox(database: Database) -> Together[tuple[Upload, Caller], bool]:
    found = _INBOXES.get(database)
    return found or _INBOXES.setdefault(database, Together(database, keep_all))


def _locked(session: Session, codes: Collection[str]) -> dict[str, tuple[Run, Study]]:
    """Lock runs and their participants until the transaction ends. Returns runs and studies by the run's code.

    All transactions lock rows in the same order, participants first, so no two wait for each other. After a wait,
    PostgreSQL reads the rows again.
    """
    known = [code for code in codes if is_code(code)]
    if not known:
        return {}
    known += [known[0]] * (MOST - len(known))  # always MOST codes, so the statement is prepared only once
    return {run.code: (run, study) for run, study in session.execute(_FIND, {"codes": known})}


def _outcome(
    session: Session, there: dict[str, tuple[Run, Study]], arrived: tuple[Upload, Caller], new: list[_New]
) -> bool | Exception:
    """The outcome of one record. Appends a record to store to `new`, and updates its run."""
    upload, device = arrived
    run, study = there.get(upload.content.run, (None, None))
    if run is None or study is None or study.id != device.study_id:
        return not_found()
    if wrong := _refusal(run, study, upload, device):
        return wrong
    missing = upload.content.of
    if run.record_us is not None or missing > 1:
        known = _known(session, run, new)
        if known.get(upload.content.piece) == (upload.content.client_id, upload.stored.digest):
            return False
        if run.record_us is not None or upload.content.piece in known:
            return _other()
        missing -= len(known)
    if last := missing <= 1:
        try:
            runs.recorded(session, run, study)
        except Problem as problem:
            return problem
        session.expunge(run)  # _write updates it with the others; the session would wait for an update of its own
    new.append(_New(run, upload, device, last=last))
    return True


def _refusal(run: Run, study: Study, upload: Upload, device: Caller) -> Problem | None:
    if run.device_id is None:
        return conflict("run-state", "No laptop has started this run.")
    if run.device_id != device.id:
        return forbidden("Another laptop started this run.")
    if upload.content.of > 1 and not protocol_of(study).at_home:
        return conflict("record", "A run of this study has one record. This one is a piece of several.")
    return None


def _known(session: Session, run: Run, new: Sequence[_New]) -> dict[int, _Identity]:
    """The run's records that are stored or about to be, by piece."""
    stored = select(RunRecord.piece, RunRecord.client_id, RunRecord.digest).where(RunRecord.run_id == run.id)
    known = {row.piece: (row.client_id, row.digest) for row in session.execute(stored)}
    return known | {each.upload.content.piece: each.identity for each in new if each.run is run}


def _write(session: Session, new: Sequence[_New]) -> None:
    """Store new records. If several fail together, the error's cause is unknown; `Together` then stores each alone."""
    received_us = now_us()
    rows = [
        {
            "run_id": each.run.id,
            "piece": each.upload.content.piece,
            "client_id": each.upload.content.client_id,
            "digest": each.upload.stored.digest,
            "document": each.upload.stored.document,
            "received_us": received_us,
            "taken_out": False,
        }
        for each in new
    ]
    runs = [each.run for each in new if each.last]
    marks = [{"run": run.id, **{f"to_{name}": getattr(run, name) for name in _CHANGED}} for run in runs]
    also = [(_KEEP, rows), *([(_MARK, marks)] if marks else [])]
    chain.append_all(session, [_entry(each) for each in new], also=also, to_the_end=len(new) > 1)


def _entry(each: _New) -> chain.Entry:
    said = {"run": each.run.code, "record": each.upload.content.client_id, "digest": each.upload.stored.digest}
    return chain.Entry("run.recorded", each.device, each.device.study_id, each.run.participant_id, said)


def _other() -> Problem:
    return conflict(
        "record", "The server has another record of this run, or another record under this id. It keeps the first one."
    )
