# SPDX-License-Identifier: GPL-2.0-or-later
"""A cache of values that take long to read from large studies. A change in the audit log makes a value invalid."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import select

from happe_study.audit.models import AuditEntry, AuditHead

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

# Actions on accounts, jobs and reviews of profiles change no cached value.
HARMLESS = ("account.", "job.", "profile.")

V = TypeVar("V")


class Kept(Generic[V]):
    """Cached values by key, for each database. It caches only values for which `is_large` is true."""

    def __init__(self, is_large: Callable[[V], bool]) -> None:
        """Start with an empty cache."""
        self._is_large = is_large
        self._kept: WeakKeyDictionary[Engine, dict[Hashable, tuple[int, V]]] = WeakKeyDictionary()
        self._lock = Lock()  # several threads that miss a value read it once

    def get(self, session: Session, key: Hashable, read: Callable[[], V]) -> V:
        """The value of a key, from the cache, or from `read` if it is missing or the log has a change since."""
        engine = session.get_bind().engine
        head = session.scalar(select(AuditHead.number)) or 0  # before `read`, whose value may be newer, never older
        known = self._kept.get(engine, {}).get(key)
        if known is not None and not _is_changed(session, known[0], head):
            self._kept[engine][key] = (head, known[1])
            return known[1]
        with self._lock:
            kept = self._kept.setdefault(engine, {})
            if key in kept and kept[key][0] >= head:  # another thread has read it meanwhile
                return kept[key][1]
            found = read()
            if self._is_large(found):
                kept[key] = (head, found)
            return found


def _is_changed(session: Session, since: int, head: int) -> bool:
    if since == head:
        return False
    later = select(AuditEntry.number).where(AuditEntry.number > since)
    for family in HARMLESS:
        later = later.where(~AuditEntry.action.startswith(family, autoescape=True))
    return session.scalar(later.limit(1)) is not None
