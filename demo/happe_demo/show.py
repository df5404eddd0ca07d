# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the study and shows its tables: show.py FOLDER PARTICIPANTS SEED [--exit].

On a terminal without --exit, it stays with its pages until SIGTERM, and then exits with 0. Before that, SIGTERM ends it
at once. program.py ends the processes that the show starts.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from happe_demo.children import MARK, DemoError, end_with_input
from happe_demo.demonstration import Demonstration
from happe_demo.office import Person
from happe_demo.screen import is_terminal

LOOKS_S = 0.5


def main() -> int:
    """Show the study, and return the exit status."""
    folder, participants, seed, *options = sys.argv[1:]
    threading.Thread(target=end_with_input, daemon=True).start()
    demonstration = Demonstration(Path(folder), int(participants), int(seed))
    try:
        print(f"A study with {participants} simulated people, through every step of a real study:")
        demonstration.run()
        print("\n".join(demonstration.summary()), flush=True)
        if is_terminal() and not options:
            _stay(demonstration)
        elif not options:
            print(
                "\n  The output is not a terminal, so the demonstration ends. "
                "On a terminal it stays and prints accounts."
            )
    except DemoError as error:
        return _complain(error.lines)
    except OSError as error:
        return _complain([str(error)])
    return 0


def _stay(demonstration: Demonstration) -> None:
    """Keep the server running for visitors until SIGTERM. Raises DemoError if the server ends."""
    for person in demonstration.people[:1]:
        _open(_address(demonstration, person))
    try:
        signal.signal(signal.SIGTERM, _enough)  # a handler: the other thread would take a blocked signal
        _invite(demonstration)
        while demonstration.server.alive:
            time.sleep(LOOKS_S)
    except EnoughError:
        print()
        return
    raise demonstration.server.ended()


class EnoughError(Exception):
    """The visitors have seen enough."""


def _enough(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_IGN)
    raise EnoughError


def _address(demonstration: Demonstration, person: Person) -> str:
    """The address at which a person signs in, and then sees their page."""
    return f"{demonstration.url}/sign-in?next={person.page}"


def _invite(demonstration: Demonstration) -> None:
    """Print the accounts, and the address for each."""
    print("\n  Look at it as one of these people, at the address below the name:\n")
    for person in demonstration.people:
        print(f"    {person.email:20} {person.password:32} {person.role}: {person.does}")
        print(f"    {_address(demonstration, person)}\n")
    print("  Ctrl-C ends it and removes everything.", flush=True)


def _open(address: str) -> None:
    """Open a page, if there is a desktop. The browser belongs to its user and stays."""
    if (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) and shutil.which("xdg-open"):
        subprocess.Popen(
            ["xdg-open", address], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != MARK}, start_new_session=True,
        )  # fmt: skip


def _complain(lines: tuple[str, ...] | list[str]) -> int:
    for line in lines:
        print(f"demo: {line}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
