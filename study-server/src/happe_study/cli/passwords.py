# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading passwords from the terminal or a file, never from the command line or the environment."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from happe_cli.errors import Failure
from happe_study.cli.errors import PROGRAM
from happe_study.study.people.accounts import LONGEST_PASSWORD, SHORTEST_PASSWORD

password_file: Callable[[Any], Any] = click.option(
    "--password-file",
    type=click.Path(dir_okay=False, path_type=Path, allow_dash=True),
    help="Read the password from a file's first line; - is standard input  [asked for]",
)


def new(path: Path | None, whose: str) -> str:
    """Read a new password from a file, or ask for it twice until it will do. Raises Failure for one from a file."""
    while True:
        password = (
            read(path, whose) if path else _asked(f"Password for {whose} (at least {SHORTEST_PASSWORD} characters)")
        )
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            wanted = f"{SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters"
            fault = f"the password has {len(password)} characters; it needs {wanted}"
        elif path is None and password != _asked("Again"):
            fault = "the two passwords differ"
        else:
            return password
        if path:
            raise Failure(os.EX_DATAERR, fault)
        PROGRAM.show([f"{fault}; try again"])


def read(path: Path | None, whose: str) -> str:
    """Read an existing password from a file, or ask for it once."""
    if path is None:
        return _asked(f"Password of {whose}")
    text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    return text.split("\n", 1)[0].removesuffix("\r")


def _asked(prompt: str) -> str:
    answer: str = click.prompt(prompt, hide_input=True, err=True)
    return answer
