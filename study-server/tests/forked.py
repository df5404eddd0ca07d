# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes that one process forks, which has imported the study server. That would take each of them seconds."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from happe_study.operations.working import worker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.context import ForkServerProcess
    from pathlib import Path

IMPORTED = ["happe_study.cli.program", "happe_study.operations.serving", "happe_study.operations.working.worker"]
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(IMPORTED)


def begun(function: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """A process that runs a function."""
    process = CONTEXT.Process(target=_run, args=(function, arguments), daemon=True)
    process.start()
    return process


def _run(function: Callable[..., None], arguments: tuple[object, ...]) -> None:
    missing = set(IMPORTED) - sys.modules.keys()
    assert not missing, f"the process that forks did not import {missing}"
    function(*arguments)


def log_to(log: Path) -> None:
    """In a new process: write everything to the end of a file."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)


class Program:
    """A program in a process of its own that was forked, with what tests need of a Popen."""

    def __init__(
        self, main: Callable[..., None], *arguments: object, log: Path, variables: Mapping[str, str] | None = None
    ) -> None:
        """Call `main`, which may end by SystemExit, in a session of its own.

        It writes to a file. In its environment are PATH and `variables`.
        """
        environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **(variables or {})}
        self._process = begun(_program, main, arguments, log, environment)
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Its exit status, negative for a signal; None: it runs."""
        return self._process.exitcode

    def wait(self, seconds: float | None = None) -> int:
        """Its exit status, when it has ended."""
        self._process.join(seconds)
        status = self.poll()
        assert status is not None, "it still runs"
        return status

    def send_signal(self, how: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, how)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _program(main: Callable[..., None], arguments: tuple[object, ...], log: Path, variables: dict[str, str]) -> None:
    os.setsid()
    log_to(log)
    os.environ.clear()
    os.environ.update(variables)
    main(*arguments)


def work_beside(order: dict[str, object]) -> None:
    """Be the worker beside a server: the process that forks this one stands for it."""
    sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(order | {"parent": os.getppid()}).encode()))
    worker.main()
