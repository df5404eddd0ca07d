# SPDX-License-Identifier: GPL-2.0-or-later
"""Removing what crashes left of power traces, and knowing traces that a withdrawal erased.

`happe-server check` finds out whether acknowledged parts exist. Meters may still have the parts of erased traces, and
must not send them again.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.database import Database
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.jobs.models import Job
from happe_study.model.traces import SweptPart, Trace, TracePart
from happe_study.study.traces.storage import LEFT_ALONE_SECONDS, Folder, Part, Storage

ERASING = "erasing"  # the kind of the jobs that remove traces, which are their argument `traces`
ERASED = "traces.erased"  # the audit log's entry of a job that has done so


def erased(session: Session, study_id: int | None = None) -> set[str]:
    """The traces that withdrawals erased, of a study or (None) of all. A job names them until the audit log does."""
    asked = select(Job.arguments).where(Job.kind == ERASING)
    entries = select(AuditDetail.detail).join(AuditEntry, AuditEntry.number == AuditDetail.number)
    done = entries.where(AuditEntry.action == ERASED)
    if study_id is not None:
        asked, done = asked.where(Job.study_id == study_id), done.where(AuditDetail.study_id == study_id)
    return {trace for query in (asked, done) for said in session.scalars(query) for trace in said["traces"]}


WAIT_SECONDS = 30 * 24 * 3600
SECOND_US = 1_000_000


@dataclass(frozen=True)
class Swept:
    """The numbers of deleted files: unfinished ones of died uploads, and finished ones that no row names."""

    unfinished: int
    unnamed: int


def sweep(database: Database, storage: Storage, *, older_than: float = LEFT_ALONE_SECONDS) -> Swept:
    """Remove what crashes left. The server may run meanwhile: this touches no file that it writes or has acknowledged.

    Unfinished files younger than `older_than` seconds stay: their upload may be about to lock them. A finished part
    that no row names waits for WAIT_SECONDS after the first sweep that found it, because somebody may have lost its
    row. A part of an erased trace does not wait. Raises AwayError, NotOwnerError.
    """
    storage.require_owner()
    unfinished = storage.sweep(older_than=older_than)
    with database.reading() as session:
        gone = erased(session)
    removed, unnamed = 0, dict[str, UUID]()
    for trace in storage.traces():
        with database.reading() as session:
            known = session.scalar(_row(trace))
            keys = _unnamed(session, storage, trace, known)
        if known is None and (not keys or str(trace) in gone):
            storage.remove(trace)
            removed += len(keys)
        else:
            unnamed |= dict.fromkeys(keys, trace)
    due = _due(database, unnamed)
    return Swept(unfinished, removed + sum(_delete(database, storage, trace, due) for trace in set(due.values())))


def sweep_own(database: Database, storage: Storage) -> None:
    """At the server's start, remove what crashes left on its own disk. It leaves a bucket alone, which others share."""
    if isinstance(storage, Folder):
        sweep(database, storage)
    else:
        storage.sweep()


def _due(database: Database, unnamed: dict[str, UUID]) -> dict[str, UUID]:
    """Note which parts no row names now. Returns those that have waited long enough."""
    now = now_us()
    with database.writing() as session:
        found = {each.key: each for each in session.scalars(select(SweptPart))}
        for key in found.keys() - unnamed.keys():
            session.delete(found[key])
        session.add_all(SweptPart(key=key, found_us=now) for key in unnamed.keys() - found.keys())
        since = {key: found[key].found_us if key in found else now for key in unnamed}
    return {key: trace for key, trace in unnamed.items() if since[key] <= now - WAIT_SECONDS * SECOND_US}


def _delete(database: Database, storage: Storage, trace: UUID, due: dict[str, UUID]) -> int:
    """Delete a trace's due parts that still no row names, under the lock that writers of such rows hold."""
    with database.writing() as session:
        known = session.scalar(_row(trace).with_for_update())
        keys = due.keys() & set(_unnamed(session, storage, trace, known))
        for key in keys:
            storage.drop(key)
        if known is None and not storage.stored(trace):
            storage.remove(trace)
    return len(keys)


def _row(trace: UUID) -> Select[int]:
    return select(Trace.id).where(Trace.client_id == str(trace))


def _unnamed(session: Session, storage: Storage, trace: UUID, known: int | None) -> list[str]:
    rows = session.execute(select(TracePart.number, TracePart.sha256).where(TracePart.trace_id == known))
    named = {storage.key(Part(trace, number, sha256)) for number, sha256 in rows}
    return [each.key for each in storage.stored(trace) if each.key not in named]
