# SPDX-License-Identifier: GPL-2.0-or-later
"""The demonstration's output while it runs: a line for each step, with a bar that grows on a terminal."""

import shutil
import sys
import time
from types import TracebackType
from typing import Self

WIDTH = 24
CLEAR = "\r\x1b[K"


def is_terminal() -> bool:
    """Whether the output is a terminal."""
    return sys.stdout.isatty()


class Step:
    """A step: its name, its progress, and its duration."""

    def __init__(self, what: str, total: int = 0) -> None:
        """`total`: the number of pieces; 0 if unknown."""
        self._what, self._total = what, total
        self._done = 0
        self._more = ""

    def __enter__(self) -> Self:
        """Begin."""
        self._began = time.monotonic()
        self._show()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        """Print how long the step took, or that it failed."""
        seconds = time.monotonic() - self._began
        how = f"{seconds:5.1f} s" if kind is None else "not done"
        print(f"{CLEAR if is_terminal() else ''}  {self._what:<58} {how}", flush=True)

    def one_more(self) -> None:
        """Report another finished piece."""
        self.done(self._done + 1)

    def done(self, number: int, more: str = "") -> None:
        """Report the number of finished pieces."""
        self._done, self._more = number, more
        self._show()

    def _show(self) -> None:
        if not is_terminal():
            return
        bar = ""
        if self._total:
            full = self._done * WIDTH // self._total
            bar = f" [{'#' * full}{'.' * (WIDTH - full)}] {self._done}/{self._total}"
        line = f"  {self._what}{bar}{self._more}"
        print(f"{CLEAR}{line[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)
