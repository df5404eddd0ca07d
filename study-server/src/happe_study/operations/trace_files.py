# SPDX-License-Identifier: GPL-2.0-or-later
"""Comparing the stored parts of power traces with the database. The server may run meanwhile."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import select

from happe_study.model.traces import SweptPart, Trace, TracePart
from happe_study.study.traces.storage import Part

if TYPE_CHECKING:
    from happe_study.base.database import Database
    from happe_study.study.traces.storage import Storage, Stored


@dataclass
class Found:
    """The result of the comparison. Names are UUID/NUMBER, which reveal no run or condition.

    `orphans` and `swept` are parts that no row names; a sweep has found those in `swept`, and a later one deletes them.
    """

    parts: int = 0
    bytes: int = 0
    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    swept: list[str] = field(default_factory=list)


def look(storage: Storage, database: Database, *, deep: bool) -> Found:
    """Compare stored parts with their rows. `deep` reads every part and compares its SHA-256. Raises AwayError."""
    found, there = Found(), {each.key: each for trace in storage.traces() for each in storage.stored(trace)}
    for part, size in _rows(database).items():
        found.parts += 1
        found.bytes += size
        fault = _fault(storage, there.get(storage.key(part)), part, size, deep=deep)
        if fault is not None and part in _rows(database, part.trace):  # unless it was erased meanwhile
            getattr(found, fault).append(_shown(part))
    later = {storage.key(part) for part in _rows(database)}
    with database.reading() as session:
        swept = set(session.scalars(select(SweptPart.key)))
    for key, each in sorted(there.items()):
        if key not in later and each.is_old:
            (found.swept if key in swept else found.orphans).append(_shown(each))
    return found


def _rows(database: Database, trace: UUID | None = None) -> dict[Part, int]:
    """The parts that the database names, with their sizes."""
    rows = select(Trace.client_id, TracePart.number, TracePart.sha256, TracePart.bytes).join(
        TracePart, TracePart.trace_id == Trace.id
    )
    if trace is not None:
        rows = rows.where(Trace.client_id == str(trace))
    with database.reading() as session:
        ordered = rows.order_by(Trace.client_id, TracePart.number)
        return {Part(UUID(row[0]), row[1], row[2]): row[3] for row in session.execute(ordered)}


def _fault(storage: Storage, stored: Stored | None, part: Part, size: int, *, deep: bool) -> str | None:
    """The name of the list in Found to which a part belongs; None if the part is right."""
    try:
        if stored is None:  # it may have arrived after the store was listed
            storage.read(part)
            return None
        if stored.bytes != size:
            return "damaged"
        if deep and hashlib.sha256(storage.read(part)).hexdigest() != part.sha256:
            return "damaged"
    except FileNotFoundError:
        return "missing"
    return None


def _shown(part: Part | Stored) -> str:
    return f"{part.trace}/{part.number}"
