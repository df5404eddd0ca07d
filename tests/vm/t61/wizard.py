# SPDX-License-Identifier: GPL-2.0-or-later
"""Alice's desktop with happe-study on it, and typed keys for its window."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from t61.waiting import spend, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from t61.sessions import Session

DISPLAY = ":7"
SOCKET = Path("/tmp/.X11-unix/X7")  # noqa: S108 - X's own place
PAGE = re.compile(r"^happe-study: page (\w+)", re.MULTILINE)
PATIENCE_S = 120.0
AGAIN_S, TYPED_AGAIN_S, TYPED_MOST = 4.0, 30.0, 10  # a busy desktop may lose a key
OPTIONS = ("--countdown=0", "--settle=150", "--browser=/bin/true", "--language=en")


class Wizard:
    """The wizard's window. It is open from the object's creation to close()."""

    def __init__(self, alice: Session, folder: Path) -> None:
        """Start desktop and wizard. Their output is in `folder`, which Alice owns."""
        self.log = folder / "wizard.log"
        self._screen = folder / "Xvfb_screen0"
        server = ("Xvfb", DISPLAY, "-screen", "0", "1024x768x24", "-fbdir", str(folder), "-nolisten", "tcp", "-ac")
        self._started = [start(alice, folder / "x.log", *server)]
        wait_until(SOCKET.exists, "the X server listens")
        environment = ("env", f"DISPLAY={DISPLAY}")
        self._started.append(start(alice, folder / "openbox.log", *environment, "openbox"))
        self._started.append(start(alice, self.log, *environment, "happe-study", *OPTIONS))
        self.until("welcome")

    def pages(self) -> list[str]:
        """Return the pages that took answers. The last one takes them now."""
        return PAGE.findall(self.log.read_text()) if self.log.exists() else []

    def until(self, page: str) -> None:
        """Wait for a page."""
        wait_until(lambda: self.pages()[-1:] == [page], f"the page {page}", PATIENCE_S)

    def press(self, *keys: str) -> None:
        """Press keys."""
        self._xdotool("key", *keys)

    def sit_down(self, link: str) -> None:
        """Replace the text on the first page by a participant's link, until another page appears."""
        wait_until(lambda: self._xdotool("getwindowfocus", "getwindowname") == "HAPPE", "it has the keyboard")
        for _ in range(TYPED_MOST):
            self.press("ctrl+a")
            self._xdotool("type", "--", link)
            self.press("Return")
            with suppress(AssertionError):
                wait_until(lambda: self.pages()[-1] != "welcome", "the server is asked", TYPED_AGAIN_S)
            wait_until(lambda: self.pages()[-1] != "waiting", "the server answers")
            if self.pages()[-1] != "welcome":
                return
        raise AssertionError(self.log.read_text())

    def answer(
        self, answers: dict[str, list[str]], last: str, within_s: float, meanwhile: Callable[[str], None]
    ) -> None:
        """Press each page's keys until the last page comes. `meanwhile` gets the page again and again."""
        answered, pressed_at, end = 0, 0.0, time.monotonic() + within_s
        while (pages := self.pages())[-1] != last:
            assert time.monotonic() < end, self.log.read_text()  # noqa: S101 - this is a test
            meanwhile(pages[-1])
            if pages[-1] in answers and (len(pages) > answered or time.monotonic() - pressed_at > AGAIN_S):
                self.press(*answers[pages[-1]])
                answered, pressed_at = len(pages), time.monotonic()
            spend(0.1)

    def keep(self, picture: Path) -> None:
        """Write the screen's picture to a file with xwd."""
        shutil.copy(self._screen, picture)

    def close(self) -> None:
        """End desktop and wizard."""
        for process in reversed(self._started):
            process.terminate()
            process.wait(PATIENCE_S)

    def _xdotool(self, *words: str) -> str:
        environment = {**os.environ, "DISPLAY": DISPLAY}
        ran = subprocess.run(["xdotool", *words], env=environment, check=False, stdout=subprocess.PIPE, text=True)
        return ran.stdout.strip()


def start(alice: Session, log: Path, *words: str) -> subprocess.Popen[str]:
    """Start a program as Alice, with its output in a file of hers."""
    return alice.start("sh", "-c", f'exec "$@" >{log} 2>&1', "sh", *words)
