# SPDX-License-Identifier: GPL-2.0-or-later
"""The thread that closes parts. If the disk refuses a write, the thread tries it again each second."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING

from happe_contract.faults import BadDocumentError
from happe_power.recording.ending import EndError
from happe_power.trace import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    Job = Callable[[], None]

RETRY_S = 1.0
LAST_TRIES = 3  # after `hurry`


class Closer:
    """Does jobs in order. `trouble` says why the present job fails; `failed` lists why it gave jobs up."""

    def __init__(self, retry_s: float = RETRY_S) -> None:
        """Wait for jobs; `run` does them."""
        self.trouble = ""
        self.failed: list[str] = []
        self._retry_s = retry_s
        self._jobs: deque[Job] = deque()
        self._hurried = False
        self._ended = False
        self._over = False
        self._changed = threading.Condition()

    def put(self, job: Job) -> None:
        """Add a job. The thread does it after all earlier jobs."""
        with self._changed:
            if not self._over:
                self._jobs.append(job)
            self._changed.notify_all()

    def hurry(self) -> None:
        """Give up jobs that fail a few times from now on; the next recovery does them."""
        with self._changed:
            self._hurried = True
            self._changed.notify_all()

    def end(self) -> None:
        """Announce the end."""
        self.hurry()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def has_room(self, most: int) -> bool:
        """Whether fewer than `most` jobs wait."""
        return len(self._jobs) < most

    def wait_for_room(self, most: int) -> None:
        """Wait until fewer than `most` jobs wait."""
        with self._changed:
            self._changed.wait_for(lambda: self.has_room(most))

    def run(self) -> None:
        """Do jobs until the end. After an unexpected error, drop all jobs, so that nobody waits for room."""
        try:
            while (job := self._next()) is not None:
                self._insist(job)
                with self._changed:
                    self._jobs.popleft()
                    self._changed.notify_all()
        finally:
            with self._changed:
                self._over = True
                self._jobs.clear()
                self._changed.notify_all()

    def _next(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._ended)
            return self._jobs[0] if self._jobs else None

    def _insist(self, job: Job) -> None:
        """Try a job until it succeeds; after `hurry`, a few times only."""
        tries = 0
        while True:
            try:
                job()
            except OSError as error:
                self.trouble = f"{error.filename or 'spool'}: {error.strerror or error}"
            except (BadDocumentError, EndError, TraceError) as error:
                self.failed.append(str(error))
                return
            else:
                self.trouble = ""
                return
            with self._changed:
                tries += self._hurried
                if tries >= LAST_TRIES:
                    self.failed.append(self.trouble)
                    return
                self._changed.wait(self._retry_s)
