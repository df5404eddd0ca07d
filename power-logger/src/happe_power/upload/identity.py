# SPDX-License-Identifier: GPL-2.0-or-later
"""The identity that this host got at enrolment, in a file that only its owner can read."""

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from happe_cli.disk import sync_file, sync_folder

NAME = "device.json"
OTHERS = 0o077


class IdentityError(Exception):
    """The identity file can't be used; the message names it and says what to do."""


@dataclass(frozen=True)
class Identity:
    """A host's server, its device code there, its study, and the token that it sends."""

    server: str
    device: str
    study: str
    token: str = field(repr=False)


def load(state: Path) -> Identity | None:
    """The identity in the state folder; None: this host has not enrolled. Raises IdentityError."""
    path = state / NAME
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            raw = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise IdentityError(f"{path}: {error.strerror}; be the user that enrolled this host, or root") from None
    if mode & OTHERS:
        raise IdentityError(f"{path}: others may read the token; `chmod 600 {path}`, and enrol again if they did")
    try:
        said = json.loads(raw)
        return Identity(**{each.name: _text(said[each.name]) for each in fields(Identity)})
    except (ValueError, KeyError, TypeError):
        raise IdentityError(f"{path}: is damaged; remove it and enrol again: `happe-power enrol`") from None


def prepare(state: Path) -> None:
    """Make the state folder and check that it is writable: an enrolment code works only once. Raises OSError."""
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished = _open(state)
    os.close(unfinished)
    (state / f".{NAME}").unlink()


def store(state: Path, identity: Identity) -> None:
    """Store an identity, in place of an earlier one. Raises OSError."""
    unfinished = state / f".{NAME}"
    try:
        with os.fdopen(_open(state), "w") as file:
            json.dump(asdict(identity), file, indent=2)
            sync_file(file)
        unfinished.replace(state / NAME)
    finally:
        unfinished.unlink(missing_ok=True)
    sync_folder(state)


def _open(state: Path) -> int:
    """Create the temporary file. The folder's owner owns it, even if root creates it: the service must read it."""
    path = state / f".{NAME}"
    path.unlink(missing_ok=True)
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    if os.geteuid() == 0:
        owner = state.stat()
        os.fchown(made, owner.st_uid, owner.st_gid)
    return made


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value
