# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for a game: a full-screen window, and a helper in a new session that ignores SIGTERM.

usage: stand_in_game.py FILE WINDOW      FILE gets a line of JSON for each process
"""

import json
import os
import signal
import sys
from pathlib import Path


def tell(file: Path, what: str) -> None:
    """Add a line on this process."""
    line = {"what": what, "pid": os.getpid(), "cpus": sorted(os.sched_getaffinity(0))}
    with file.open("a") as told:
        told.write(json.dumps(line) + "\n")


def help_out(file: Path) -> None:
    """Run as the helper: leave the parent's session, and stay."""
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell(file, "helper")
    while True:
        signal.pause()


def main() -> None:
    """Be a game."""
    file, window = Path(sys.argv[1]), sys.argv[2]
    if os.fork() == 0:
        help_out(file)
    tell(file, "game")
    os.execv(window, [window, "white"])  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
