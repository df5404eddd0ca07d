# SPDX-License-Identifier: GPL-2.0-or-later
"""The worker that a server starts beside itself. It starts again when it dies, and ends with the server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from happe_study.base.config import Config

log = structlog.get_logger(__name__)

PAUSE_SECONDS = 2.0  # before a new start


class Beside:
    """Keeps a worker running until told to stop."""

    def __init__(self, config: Config) -> None:
        """Start the worker, and watch it in a thread.

        The master forks web workers meanwhile. They would inherit any lock that the thread holds, and never release it.
        So the thread uses no library that locks, such as pydantic, which locks when it first writes a model.

        Web workers would also keep open the pipe by which the thread learns that its new process has started, so it
        would never stop waiting. So this method returns only when the first process has started.
        """
        self._order = json.dumps({"config": config.model_dump(mode="json"), "parent": os.getpid()}).encode() + b"\n"
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping, self._begun = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep, name="worker", daemon=True)
        self._thread.start()
        self._begun.wait()

    def stop(self) -> None:
        """End the worker. Its unfinished jobs wait again."""
        self._stopping.set()
        if self._process is not None:
            self._process.terminate()
        self._thread.join()

    def _keep(self) -> None:
        while not self._stopping.is_set():
            with self._started() as process:
                self._process = process
                if self._stopping.is_set():
                    process.terminate()
                process.wait()
            if not self._stopping.wait(PAUSE_SECONDS):
                log.error("worker died")

    def _started(self) -> subprocess.Popen[bytes]:
        # The kernel ends the process with the thread that starts it (prctl(2), PR_SET_PDEATHSIG). That thread lives as
        # long as the server.
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "happe_study.operations.working.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        finally:
            self._begun.set()
        assert process.stdin is not None  # noqa: S101 - a pipe
        try:
            with process.stdin:
                process.stdin.write(self._order)
        except BrokenPipeError:
            log.error("worker died")  # noqa: TRY400 - the worker's log says why
        return process
