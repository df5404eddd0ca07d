# SPDX-License-Identifier: GPL-2.0-or-later
"""Talks to a program at its own terminal."""

import os
import pty
import select
import subprocess
import time
from collections.abc import Callable

PATIENCE_S = 300.0


class Conversation:
    """A conversation with a program that asks questions."""

    def __init__(self, start: Callable[[int], subprocess.Popen[str]]) -> None:
        """Start the program. `start` gets the descriptor of the terminal."""
        self.mine, its = pty.openpty()
        self.process = start(its)
        os.close(its)
        self.said = ""

    def hears(self, words: str) -> None:
        """Wait until the program has printed this since the last answer."""
        end = time.monotonic() + PATIENCE_S
        while words not in self.said:
            if not self._says_more(end - time.monotonic()):
                raise AssertionError(f"it ended without {words!r}: {self.said}")

    def answers(self, question: str, answer: str) -> None:
        """Wait for a question, and answer it."""
        self.hears(question)
        self.said = ""
        os.write(self.mine, f"{answer}\n".encode())

    def ended(self) -> int:
        """Wait for its end."""
        while self._says_more(PATIENCE_S):
            pass
        status = self.process.wait(PATIENCE_S)
        os.close(self.mine)
        return status

    def _says_more(self, patience_s: float) -> bool:
        if not select.select([self.mine], [], [], max(patience_s, 0))[0]:
            raise AssertionError(f"it says nothing more: {self.said}")
        try:
            self.said += os.read(self.mine, 4096).decode()
        except OSError:  # EIO: no process has the other end of the terminal any more
            return False
        return True
