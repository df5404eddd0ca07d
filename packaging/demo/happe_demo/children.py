# SPDX-License-Identifier: GPL-2.0-or-later
"""The demonstration's processes: each with a log, in a session of its own, and none of them outlives it.

A terminal's Ctrl-C reaches the demonstration alone, which ends them in order. If it is killed they end by themselves,
as their standard input does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Json = dict[str, Any]

SOURCES = Path(__file__).resolve().parents[1]
ENDS_S = 10.0
LAST_LINES = 12
MARK = "HAPPE_DEMO"  # the variable by which a process, and what it starts, names the folder in which it was started


class DemoError(Exception):
    """The demonstration can't go on. `lines` say why; `log`, if there is one, says more."""

    def __init__(self, *lines: str, log: Path | None = None) -> None:
        """Keep what is to be said."""
        super().__init__("\n".join(lines))
        self.lines = lines
        self.log = log


class Child:
    """A process that may be asked in JSON, an object a line, and answers so."""

    def __init__(self, name: str, command: Sequence[str | Path], folder: Path) -> None:
        """Start it; its standard error is in NAME.log. Raises OSError."""
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env=os.environ
                | {"PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1", MARK: str(folder.resolve())},
                start_new_session=True,
            )

    @classmethod
    def of_module(cls, name: str, module: str, arguments: Sequence[str | Path], folder: Path) -> Child:
        """One that runs a module of ours."""
        return cls(name, [sys.executable, "-m", f"happe_demo.{module}", *arguments], folder)

    @property
    def alive(self) -> bool:
        """Whether it is still at work."""
        return self._process.poll() is None

    def tell(self, said: Json) -> None:
        """Send it a line. Raises DemoError if it has ended."""
        assert self._process.stdin is not None  # noqa: S101 - a pipe, by `__init__`
        try:
            self._process.stdin.write(json.dumps(said).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self.ended() from None

    def hear(self) -> Json:
        """Its next line. Raises DemoError if it has ended, or says that it can't."""
        assert self._process.stdout is not None  # noqa: S101 - a pipe, by `__init__`
        line = self._process.stdout.readline()
        if not line:
            raise self.ended()
        heard: Json = json.loads(line)
        if "error" in heard:
            raise DemoError(f"{self.name}: {heard['error']}", log=self.log)
        return heard

    def ask(self, said: Json) -> Json:
        """What it answers."""
        self.tell(said)
        return self.hear()

    def ended(self) -> DemoError:
        """That it ended too soon, with its last words."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        words = self.log.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return DemoError(f"{self.name} has ended with status {self._process.poll()}", *words, log=self.log)

    def end(self) -> None:
        """End it, its own children included."""
        with suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        with suppress(ProcessLookupError):
            self._process.terminate()
        try:
            self._process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # what is left of its session
            self._process.wait()
            if self._process.stdout:
                self._process.stdout.close()


def end_all(children: Sequence[Child]) -> None:
    """End them, the last one first."""
    for child in reversed(children):
        child.end()


def end_strays(folder: Path) -> None:
    """End what works in a folder, and is ours: the server makes its reports in processes that outlive it."""
    real = folder.resolve()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "cwd").readlink().is_relative_to(real) and _is_marked(entry, real):
                os.kill(int(entry.name), signal.SIGKILL)


def _is_marked(process: Path, folder: Path) -> bool:
    """Whether a demonstration in this folder has started a process. Raises OSError."""
    for variable in (process / "environ").read_bytes().split(b"\0"):
        name, _, value = variable.partition(b"=")
        if name == MARK.encode():
            return Path(os.fsdecode(value)).is_relative_to(folder)
    return False
