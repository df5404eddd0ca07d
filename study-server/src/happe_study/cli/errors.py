# SPDX-License-Identifier: GPL-2.0-or-later
"""The program: where its configuration is, and its messages for errors, for the person who typed the command."""

from __future__ import annotations

import errno
import os
import sqlite3
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from happe_cli.errors import Failure
from happe_cli.program import Program

if TYPE_CHECKING:
    from sqlalchemy.exc import SQLAlchemyError

    from happe_study.base.problems import Problem

CONFIG = Path("/etc/happe/server.toml")
VARIABLE = "HAPPE_SERVER_CONFIG"


def meaning(error: Exception) -> Failure | None:
    """The message for one of our exceptions, or None for another exception."""
    from sqlalchemy.exc import SQLAlchemyError

    from happe_study.base.config import ConfigError
    from happe_study.base.problems import Problem
    from happe_study.base.s3 import NotOwnerError

    match error:
        case ConfigError():
            return Failure(os.EX_CONFIG, *str(error).splitlines())
        case NotOwnerError():
            return Failure(os.EX_NOPERM, str(error), "if it replaces that server: `happe-server takeover`")
        case Problem():
            return _of_problem(error)
        case SQLAlchemyError():
            return _of_database(error)
    return None


def _of_problem(problem: Problem) -> Failure:
    status = {
        HTTPStatus.NOT_FOUND: os.EX_NOINPUT,
        HTTPStatus.FORBIDDEN: os.EX_NOPERM,
        HTTPStatus.UNAUTHORIZED: os.EX_NOPERM,
        HTTPStatus.SERVICE_UNAVAILABLE: os.EX_UNAVAILABLE,
        HTTPStatus.INSUFFICIENT_STORAGE: os.EX_IOERR,
    }.get(problem.status, os.EX_DATAERR)
    return Failure(status, problem.detail, *(f"{e.pointer}: {e.detail}" for e in problem.errors))


def _of_database(error: SQLAlchemyError) -> Failure:
    original = getattr(error, "orig", None) or error
    said = (str(original).splitlines() or [type(original).__name__])[0]
    if getattr(original, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL:
        return Failure(os.EX_IOERR, "no room is left on the disk of the database; make room and try again")
    return Failure(os.EX_UNAVAILABLE, f"the database does not answer: {said}", "`happe-server check` gives details")


PROGRAM = Program(
    "happe-server",
    meaning,
    advice={
        errno.EACCES: "run it as root or as the user of the server",
        errno.EPERM: "run it as root or as the user of the server",
        errno.EADDRINUSE: "another program listens on this address; end it, or choose another address",
    },
)
