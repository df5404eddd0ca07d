# SPDX-License-Identifier: GPL-2.0-or-later
"""An uploader as a process of its own beside a recording: whatever becomes of it, the recording goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NICENESS = 10
LOG = "upload.log"
ENDS_S = 5.0
LOOK_S = 0.1
AGAIN_S = 60.0


class Beside:
    """`happe-power upload --watch` as a child. It ends with us, and is in no way of ours; `tend` keeps it at work."""

    def __init__(self, spool: Path, arguments: Sequence[str]) -> None:
        """Start it; `arguments` are Host.arguments(). Its messages are in upload.log of the spool. Raises OSError."""
        spool.mkdir(parents=True, exist_ok=True)
        self._command = [sys.executable, "-m", "happe_power", *arguments]
        self._command += ["upload", "--watch", "--json", "--spool", str(spool), "--beside", str(os.getpid())]
        self.log = spool / LOG
        self._again_s: float | None = None
        self._said = ""
        self._process = self._started()

    @property
    def alive(self) -> bool:
        """Whether it is still at work; if not, the log says why."""
        return self._process.poll() is None

    @property
    def last_words(self) -> str:
        """The last line of its log. Empty: it has said nothing. Raises OSError."""
        return (self.log.read_text(encoding="utf-8", errors="replace").splitlines() or [""])[-1]

    def tend(self, now_s: float) -> str:
        """Start it again a minute after it was seen to have ended. What to report of it; empty: nothing new."""
        if self.alive:
            return ""
        if self._again_s is None:
            self._again_s = now_s + AGAIN_S
            return self._news()
        if now_s >= self._again_s:
            self._again_s = now_s + AGAIN_S
            with suppress(OSError):  # a disk that is full, or no memory: in a minute then
                self._process = self._started()
                self._again_s = None
        return ""

    def finish(self, folder: Path, patience_s: float) -> bool:
        """Wait until the trace that has ended is sealed, but not longer; then end it. Whether it is sealed."""
        deadline = time.monotonic() + patience_s
        while self.alive and not (folder / "seal.json").exists() and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        self.stop()
        return (folder / "seal.json").exists()

    def stop(self) -> None:
        """End it: it finishes its request, or is killed; nothing is lost by that."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self.alive:
                self._process.send_signal(number)
                try:
                    self._process.wait(ENDS_S)
                except subprocess.TimeoutExpired:
                    continue

    def _started(self) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
        return process

    def _news(self) -> str:
        """That it has ended and why, unless that is what was reported the last time."""
        try:
            words = self.last_words
        except OSError as error:
            words = str(error)
        said, self._said = self._said, f"the uploader has ended ({words}); it is started again each minute"
        return "" if said == self._said else self._said
