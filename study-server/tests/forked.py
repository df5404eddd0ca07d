# SPDX-License-Identifier: GPL-2.0-or-later
"""Processes forked from one process that has imported the study server. The import would take each of them seconds."""

import io
import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from happe_study.operations import worker

IMPORTED = ["happe_study.web.assembly", "happe_study.operations.serving", "happe_study.operations.worker"]
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(IMPORTED)


def begun(function: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """Start a process that runs a function."""
    process = CONTEXT.Process(target=_run, args=(function, arguments), daemon=True)
    process.start()
    return process


def _run(function: Callable[..., None], arguments: tuple[object, ...]) -> None:
    missing = set(IMPORTED) - sys.modules.keys()
    assert not missing, f"the process that forks did not import {missing}"
    function(*arguments)


def log_to(log: Path) -> None:
    """Let a new process append its output to a file."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)


class Program:
    """A program in a forked process, with the methods of Popen that tests need."""

    def __init__(
        self, main: Callable[..., None], *arguments: object, log: Path, variables: Mapping[str, str] | None = None
    ) -> None:
        """Call `main`, which may end by SystemExit, in a new session.

        It writes to the file `log`. Its environment has PATH and `variables`.
        """
        environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **(variables or {})}
        self._process = begun(_program, main, arguments, log, environment)
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None: the program still runs."""
        return self._process.exitcode

    def wait(self, seconds: float | None = None) -> int:
        """Wait until the program ends, and return its exit status."""
        self._process.join(seconds)
        status = self.poll()
        assert status is not None, "it still runs"
        return status

    def send_signal(self, how: signal.Signals) -> None:
        """Send the program a signal, if it runs."""
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
    """Be the worker beside a server. The process that forks this one stands for the server."""
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined] # noqa: SLF001 - a worker starts processes
    sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(order | {"parent": os.getppid()}).encode()))
    worker.main()
