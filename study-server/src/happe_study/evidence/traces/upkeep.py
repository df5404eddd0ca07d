# SPDX-License-Identifier: GPL-2.0-or-later
"""Removing what crashes left of power traces. `happe-server check` finds out whether acknowledged parts exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from happe_study.evidence.traces.folder import Folder
from happe_study.evidence.traces.models import Trace, TracePart
from happe_study.evidence.traces.storage import LEFT_ALONE_SECONDS, Part

if TYPE_CHECKING:
    from uuid import UUID

    from sqlalchemy.orm import Session

    from happe_study.base.database import Database
    from happe_study.evidence.traces.storage import Storage


@dataclass(frozen=True)
class Swept:
    """The numbers of removed files: unfinished ones of died uploads, and finished ones that no row names."""

    unfinished: int
    unnamed: int


def sweep(database: Database, storage: Storage, *, older_than: float = LEFT_ALONE_SECONDS) -> Swept:
    """Remove what crashes left. The server may run meanwhile: this touches no file that it writes or has acknowledged.

    Unfinished files younger than `older_than` seconds stay: their upload may be about to lock them. If this removes an
    object from a bucket before its upload writes the row, the upload fails and the meter repeats it. Raises AwayError.
    """
    unfinished = storage.sweep(older_than=older_than)
    return Swept(unfinished, sum(_sweep_unnamed(database, storage, trace) for trace in storage.traces()))


def sweep_own(database: Database, storage: Storage) -> None:
    """At the server's start, remove what crashes left on its own disk. It leaves a bucket alone, which others share."""
    if isinstance(storage, Folder):
        sweep(database, storage)
    else:
        storage.sweep()


def _sweep_unnamed(database: Database, storage: Storage, trace: UUID) -> int:
    """Remove a trace's finished parts that no row names, under the lock that writers of such rows hold."""
    with database.reading() as session:
        known = session.scalar(select(Trace.id).where(Trace.client_id == str(trace)))
        if known is not None and not _unnamed(session, storage, trace, known):
            return 0
    with database.writing() as session:
        known = session.scalar(select(Trace.id).where(Trace.client_id == str(trace)).with_for_update())
        unnamed = _unnamed(session, storage, trace, known)
        for key in unnamed:
            storage.drop(key)
        if known is None:
            storage.remove(trace)
    return len(unnamed)


def _unnamed(session: Session, storage: Storage, trace: UUID, known: int | None) -> list[str]:
    rows = session.execute(select(TracePart.number, TracePart.sha256).where(TracePart.trace_id == known))
    named = {storage.key(Part(trace, number, sha256)) for number, sha256 in rows}
    return [each.key for each in storage.stored(trace) if each.key not in named]
