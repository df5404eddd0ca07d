# SPDX-License-Identifier: GPL-2.0-or-later
"""Away with what crashes left of power traces. Whether what was acknowledged is there, `happe-server check` says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from happe_study.evidence.traces.models import Trace, TracePart
from happe_study.evidence.traces.storage import LEFT_ALONE_SECONDS

if TYPE_CHECKING:
    from uuid import UUID

    from happe_study.base.database import Database
    from happe_study.evidence.traces.storage import Storage


@dataclass(frozen=True)
class Swept:
    """How many files were removed: of uploads that died, and finished ones that no row names."""

    unfinished: int
    unnamed: int


def sweep(database: Database, storage: Storage, *, older_than: float = LEFT_ALONE_SECONDS) -> Swept:
    """Remove what crashes left. The server may run meanwhile: nothing that it writes or has acknowledged is touched.

    Unfinished files that are younger than `older_than` seconds stay: their upload may be about to lock them.
    """
    unfinished = unnamed = 0
    for trace in storage.traces():
        unfinished += storage.sweep(trace, older_than=older_than)
        unnamed += _sweep_unnamed(database, storage, trace)
    return Swept(unfinished, unnamed)


def _sweep_unnamed(database: Database, storage: Storage, trace: UUID) -> int:
    """Remove a trace's finished files that no row names, under the lock that those who make them hold."""
    with database.writing() as session:
        trace_id = session.scalar(select(Trace.id).where(Trace.client_id == str(trace)).with_for_update())
        named = set(session.scalars(select(TracePart.number).where(TracePart.trace_id == trace_id)))
        unnamed = [number for number in storage.parts(trace) if number not in named]
        for number in unnamed:
            storage.drop(trace, number)
        if trace_id is None:
            storage.remove(trace)
    return len(unnamed)
