# SPDX-License-Identifier: GPL-2.0-or-later
"""Group commit: one thread writes the work of several threads in one transaction, so they wait for the disk once.

Writers queue anyhow, for SQLite's lock or for the audit log's head. The first thread in the queue also writes the work
that waits behind it, so each piece costs less the more threads wait. No thread gets its result before the transaction
with its work is on the disk.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.orm import Session

    from happe_study.base.database import Database

MOST = 16  # pieces of work in one transaction

Work = TypeVar("Work")
Result = TypeVar("Result")


@dataclass(eq=False)
class _Item(Generic[Work, Result]):
    work: Work
    outcome: list[Result | Exception] = field(default_factory=list)  # empty until the work is done, then one entry
    turn: threading.Event = field(default_factory=threading.Event)  # set when the work is done or its thread must lead


class Together(Generic[Work, Result]):
    """One kind of work on one database, for the threads of one process.

    `do` does several pieces of work in a session of `writing()`. It returns for each its result, or the exception that
    its thread raises. If `do` raises, or the commit fails, this rolls the transaction back and does each piece alone.
    """

    def __init__(
        self, database: Database, do: Callable[[Session, Sequence[Work]], Sequence[Result | Exception]]
    ) -> None:
        """Start with an empty queue."""
        self._database = database
        self._do = do
        self._waiting: list[_Item[Work, Result]] = []
        self._led = False
        self._gathering = threading.Lock()  # guards _waiting and _led

    def result(self, work: Work) -> Result:
        """The result of a piece of work that this or another thread does. Raises its exception, or a database error."""
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
        """Do this thread's work and the work that queued while the thread waited for the database."""
        taken = [own]
        try:
            with self._database.writing_in_turn() as session:
                taken += self._take()
                outcomes = self._do(session, [item.work for item in taken])
        except Exception as error:  # noqa: BLE001 - the thread with the work raises it
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
        """Let the next thread lead, and wake threads whose work is done. Work left undone goes to the queue's front."""
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
        """After a failed transaction, do each piece in its own. If there is only one piece, the error is its own."""
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
