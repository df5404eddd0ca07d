# SPDX-License-Identifier: GPL-2.0-or-later
"""Work of threads that come at the same time, done by one of them in one transaction: one wait for the disk, not many.

Writers queue anyhow, for SQLite's lock or for the audit log's head. The first in the queue also writes what has
gathered behind it, so the more come, the less each costs. Nobody is answered before the transaction that has their work
is on the disk.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.orm import Session

    from happe_study.base.database import Database

MOST = 16  # done in one transaction

Work = TypeVar("Work")
Result = TypeVar("Result")


@dataclass(eq=False)
class _Item(Generic[Work, Result]):
    work: Work
    outcome: list[Result | Exception] = field(default_factory=list)  # one, when it is done
    turn: threading.Event = field(default_factory=threading.Event)  # set when it is done, or is the next to lead


class Together(Generic[Work, Result]):
    """One kind of work on one database, for the threads of one process.

    `do` does several pieces in a session of `writing()`: for each its result, or the exception that its thread is to
    raise. If it raises itself, or the commit fails, nothing is kept, and each piece is done again by itself.
    """

    def __init__(
        self, database: Database, do: Callable[[Session, Sequence[Work]], Sequence[Result | Exception]]
    ) -> None:
        """Start without work."""
        self._database = database
        self._do = do
        self._waiting: list[_Item[Work, Result]] = []
        self._led = False
        self._gathering = threading.Lock()  # of the two above

    def result(self, work: Work) -> Result:
        """Get a piece of work done, by this thread or another. Raises its exception, or the database's error."""
        item: _Item[Work, Result] = _Item(work)
        with self._gathering:
            leads, self._led = not self._led, True
            if not leads:
                self._waiting.append(item)
        if not leads:
            item.turn.wait()
        if not item.outcome:
            self._lead(item)
        outcome = item.outcome[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _lead(self, own: _Item[Work, Result]) -> None:
        """Do the work that has gathered until the database lets this thread write."""
        taken = [own]
        try:
            with self._database.writing_in_turn() as session:
                taken += self._take()
                outcomes = self._do(session, [item.work for item in taken])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is its thread's
            self._one_by_one(taken, error)
        else:
            for item, outcome in zip(taken, outcomes, strict=True):
                item.outcome.append(outcome)
        finally:
            self._hand_over(taken[1:])

    def _take(self) -> list[_Item[Work, Result]]:
        with self._gathering:
            taken, self._waiting = self._waiting[: MOST - 1], self._waiting[MOST - 1 :]
        return taken

    def _hand_over(self, others: Sequence[_Item[Work, Result]]) -> None:
        """Let the next thread lead, and wake those whose work is done. If a thread is ending, its work comes first."""
        with self._gathering:
            self._waiting = [item for item in others if not item.outcome] + self._waiting
            following = self._waiting.pop(0) if self._waiting else None
            self._led = following is not None
        if following is not None:
            following.turn.set()
        for item in others:
            if item.outcome:
                item.turn.set()

    def _one_by_one(self, items: list[_Item[Work, Result]], error: Exception) -> None:
        """Do each by itself, after an error of all together; a single one had that error itself."""
        if len(items) == 1:
            items[0].outcome.append(error)
            return
        for item in items:
            try:
                with self._database.writing() as session:
                    (outcome,) = self._do(session, [item.work])
            except Exception as own:  # noqa: BLE001 - as above
                outcome = own
            item.outcome.append(outcome)
