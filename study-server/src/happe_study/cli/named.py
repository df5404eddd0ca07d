# SPDX-License-Identifier: GPL-2.0-or-later
"""Find what a command names, and read the protocol's file. The error for an unknown name says how to list the names."""

import os
import sys
from pathlib import Path

import click
from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_cli.errors import Failure
from happe_study.model.accounts import Account
from happe_study.model.devices import Device
from happe_study.model.studies import Study
from happe_study.study.people import accounts
from happe_study.study.protocol.reading import Protocol, ProtocolError, read_protocol


def account(session: Session, email: str) -> Account:
    """The account of an address. Raises Failure."""
    found = accounts.find(session, email)
    if found is None:
        raise Failure(os.EX_NOINPUT, f"{email}: no such account; `happe-server user list` shows all")
    return found


def study(session: Session, name: str) -> Study:
    """The study of a name. Raises Failure."""
    found = session.scalar(select(Study).where(Study.name == name))
    if found is None:
        raise Failure(os.EX_NOINPUT, f"{name}: no such study; `happe-server study list` shows all")
    return found


def device(session: Session, study_name: str, code: str) -> Device:
    """A study's device. Raises Failure."""
    found = session.scalar(select(Device).where(Device.code == code, Device.study_id == study(session, study_name).id))
    if found is None:
        advice = f"`happe-server device list {study_name}` shows all"
        raise Failure(os.EX_NOINPUT, f"{code}: {study_name} has no such device; {advice}")
    return found


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
