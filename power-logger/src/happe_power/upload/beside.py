# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs an uploader as a separate process beside a recording. If the uploader fails, the recording goes on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

NICENESS = 10
LOG = "upload.log"
ENDS_S = 5.0
LOOK_S = 0.1
AGAIN_S = 60.0


class Beside:
    """`happe-power upload --watch` as a child process, which ends with its parent. `tend` restarts it if it ends."""

    def __init__(self, spool: Path, arguments: Sequence[str]) -> None:
        """Start the uploader with Host.arguments(). It writes messages to upload.log in the spool. Raises OSError."""
        spool.mkdir(parents=True, exist_ok=True)
        self._command = [sys.executable, "-m", "happe_power", *arguments]
        self._command += ["upload", "--watch", "--json", "--spool", str(spool), "--beside", str(os.getpid())]
        self.log = spool / LOG
        self._again_s: float | None = None
        self._said = ""
        self._process = self._started()

    @property
    def alive(self) -> bool:
        """Whether the uploader still runs; if not, its log says why."""
        return self._process.poll() is None

    @property
    def last_words(self) -> str:
        """The last line of the uploader's log; empty if the log is empty. Raises OSError."""
        return (self.log.read_text(encoding="utf-8", errors="replace").splitlines() or [""])[-1]

    def tend(self, now_s: float) -> str:
        """Restart the uploader a minute after this first sees its end. Return news to report, or an empty string."""
        if self.alive:
            return ""
        if self._again_s is None:
            self._again_s = now_s + AGAIN_S
            return self._news()
        if now_s >= self._again_s:
            self._again_s = now_s + AGAIN_S
            with suppress(OSError):  # the disk is full, or memory is short: try again in a minute
                self._process = self._started()
                self._again_s = None
        return ""

    def finish(self, folder: Path, patience_s: float) -> bool:
        """Wait at most `patience_s` for the seal of the ended trace, then stop. Return whether it is sealed."""
        deadline = time.monotonic() + patience_s
        while self.alive and not (folder / "seal.json").exists() and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        self.stop()
        return (folder / "seal.json").exists()

    def stop(self) -> None:
        """Stop the uploader: SIGTERM lets it finish its request, SIGKILL follows after 5 s. No data is lost."""
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
        """Return a message that the uploader has ended, and why; empty if the last message said the same."""
        try:
            words = self.last_words
        except OSError as error:
            words = str(error)
        said, self._said = self._said, f"the uploader has ended ({words}); it is started again each minute"
        return "" if said == self._said else self._said
