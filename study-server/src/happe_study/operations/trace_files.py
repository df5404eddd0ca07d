# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the files of power traces are those that the database names, while the server may be at work."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import select

from happe_study.evidence.traces.models import Trace, TracePart
from happe_study.evidence.traces.storage import LEFT_ALONE_SECONDS, Storage, sha256_of

if TYPE_CHECKING:
    from pathlib import Path

    from happe_study.base.database import Database

Name = tuple[str, int]  # a trace's UUID and a part's number


@dataclass
class Found:
    """What was found. Names are UUID/NUMBER; none tells a run or a condition."""

    parts: int = 0
    bytes: int = 0
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)


def look(root: Path, database: Database, *, deep: bool) -> Found:
    """Compare files with rows. `deep` reads every file and compares its SHA-256."""
    storage, found = Storage(root), Found()
    on_disk = {(str(trace), number) for trace in storage.traces() for number in storage.parts(trace)}
    known = _rows(database)
    for name, (size, sha256) in known.items():
        found.parts += 1
        found.bytes += size
        fault = _fault(storage, name, size, sha256 if deep else None)
        if fault is not None and name in _rows(database, name[0]):  # it was not withdrawn meanwhile
            getattr(found, fault).append(_shown(name))
    later = _rows(database)
    found.orphans = [_shown(name) for name in sorted(on_disk - later.keys()) if _is_old(storage, name)]
    return found


def _rows(database: Database, trace: str | None = None) -> dict[Name, tuple[int, str]]:
    rows = select(Trace.client_id, TracePart.number, TracePart.bytes, TracePart.sha256).join(
        TracePart, TracePart.trace_id == Trace.id
    )
    if trace is not None:
        rows = rows.where(Trace.client_id == trace)
    with database.reading() as session:
        ordered = rows.order_by(Trace.client_id, TracePart.number)
        return {(trace, number): (size, sha256) for trace, number, size, sha256 in session.execute(ordered)}


def _fault(storage: Storage, name: Name, size: int, sha256: str | None) -> str | None:
    """Which list of Found a part belongs to; None: it is as it should be."""
    file = storage.part(UUID(name[0]), name[1])
    try:
        whole = file.stat().st_size == size and (sha256 is None or sha256_of(file) == sha256)
    except FileNotFoundError:
        return "missing"
    return None if whole else "damaged"


def _is_old(storage: Storage, name: Name) -> bool:
    """Whether no upload can still be about to name it."""
    try:
        changed = storage.part(UUID(name[0]), name[1]).stat().st_ctime
    except FileNotFoundError:
        return False
    return time.time() - changed > LEFT_ALONE_SECONDS


def _shown(name: Name) -> str:
    return f"{name[0]}/{name[1]}"
