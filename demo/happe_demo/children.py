# SPDX-License-Identifier: GPL-2.0-or-later
"""The demonstration's processes. Each has a log and its own session, and all end with the demonstration.

A terminal's Ctrl-C reaches only program.py, which ends them all. If somebody kills program.py, they end by themselves,
because their standard input closes.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SOURCES = Path(__file__).resolve().parents[1]
ROOT = SOURCES.parent
ENDS_S, KILLED_S, LOOKS_S = 10.0, 2.0, 0.02
LAST_LINES = 12
MARK = "HAPPE_DEMO"  # the variable that names the demonstration's folder, for a process and all that it starts


class DemoError(Exception):
    """The demonstration cannot continue. `lines` give the reason; `log`, if there is one, has details."""

    def __init__(self, *lines: str, log: Path | None = None) -> None:
        """Keep the message."""
        super().__init__("\n".join(lines))
        self.lines = lines
        self.log = log


class Child:
    """A process that answers questions in JSON, one object a line."""

    def __init__(self, name: str, command: Sequence[str | Path], folder: Path) -> None:
        """Start the process; its standard error goes to NAME.log. Raises OSError."""
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                start_new_session=True,
            )

    @classmethod
    def of_module(cls, name: str, module: str, arguments: Sequence[str | Path], folder: Path) -> "Child":
        """Start a process that runs one of our modules."""
        return cls(name, [sys.executable, "-m", f"happe_demo.{module}", *arguments], folder)

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def tell(self, said: Json) -> None:
        """Send the process a line. Raises DemoError if it has ended."""
        assert self._process.stdin is not None  # noqa: S101 - a pipe, by `__init__`
        try:
            self._process.stdin.write(json.dumps(said).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self.ended() from None

    def hear(self) -> Json:
        """Read the process's next line. Raises DemoError if it has ended, or if it reports an error."""
        assert self._process.stdout is not None  # noqa: S101 - a pipe, by `__init__`
        line = self._process.stdout.readline()
        if not line:
            raise self.ended()
        heard: Json = json.loads(line)
        if "error" in heard:
            raise DemoError(f"{self.name}: {heard['error']}", log=self.log)
        return heard

    def ask(self, said: Json) -> Json:
        """Send a question and return the answer."""
        self.tell(said)
        return self.hear()

    def ended(self) -> DemoError:
        """The error that the process ended too soon, with its last words."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        words = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return DemoError(f"{self.name} has ended with status {self._process.poll()}", *words, log=self.log)


def end_with_input() -> None:
    """End this process by SIGTERM when the other end closes its standard input."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def end_all(folder: Path) -> None:
    """End all processes of the demonstration in a folder: by SIGTERM, and after ten seconds by SIGKILL.

    Some outlive their parent: the server makes its reports in further processes.
    """
    for number, lasts_s in ((signal.SIGTERM, ENDS_S), (signal.SIGKILL, KILLED_S)):
        for process in processes_of(folder):
            with suppress(ProcessLookupError):
                os.kill(process, number)
        deadline = time.monotonic() + lasts_s
        while processes_of(folder) and time.monotonic() < deadline:
            time.sleep(LOOKS_S)


def processes_of(folder: Path) -> list[int]:
    """The processes that were started for a demonstration in a folder and have not ended."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            variables = (entry / "environ").read_bytes().split(b"\0")
            if f"{MARK}={folder.resolve()}".encode() in variables:
                found.append(int(entry.name))
    return found
