# SPDX-License-Identifier: GPL-2.0-or-later
"""Ends a long-running command on a signal."""

from __future__ import annotations

import contextlib
import queue
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


class Ending:
    """SIGINT or SIGTERM ends a command at its next `wait`; a second signal ends the program at once.

    A signal may come in the middle of a wait. A `threading.Event` would then wait for its own lock; a SimpleQueue's
    `put` may interrupt its `get` (Python's library reference, queue).
    """

    def __init__(self) -> None:
        """Begin to listen for signals. Only the main thread can."""
        self._told = False
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._tell)

    def wait(self, seconds: float | None = None) -> bool:
        """True if a signal has come, or comes within these seconds. None: wait until one comes."""
        if not self._told:
            with contextlib.suppress(queue.Empty):
                self._news.get(timeout=seconds)
        return self._told

    def _tell(self, number: int, _frame: FrameType | None) -> None:
        if self._told:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self._told = True
        self._news.put(None)
