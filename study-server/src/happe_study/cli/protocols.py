# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading the protocol files of commands."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from happe_cli.errors import Failure
from happe_study.study.protocol.reading import Protocol, ProtocolError, read_protocol

STANDARD_INPUT = "-"
file_argument = click.argument("file", type=click.Path(dir_okay=False, path_type=Path, allow_dash=True))


def protocol_text(file: Path) -> str:
    """Read the text of a protocol's file. Raises Failure if it is not UTF-8."""
    name = "standard input" if str(file) == STANDARD_INPUT else str(file)
    try:
        return sys.stdin.buffer.read().decode() if str(file) == STANDARD_INPUT else file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise Failure(os.EX_DATAERR, f"{name}: is not UTF-8 at byte {error.start}") from error


def checked(file: Path, text: str) -> Protocol:
    """Read the protocol from a file's text. Raises Failure with each mistake and its line."""
    try:
        return read_protocol(text.encode())
    except ProtocolError as error:
        wrong = [
            f"{file}:{mistake.line}: {f'{mistake.field}: ' if mistake.field else ''}{mistake.message}"
            for mistake in error.mistakes
        ]
        raise Failure(os.EX_DATAERR, *wrong) from error
