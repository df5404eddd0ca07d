# SPDX-License-Identifier: GPL-2.0-or-later
"""Exit statuses, and which error has which. An error is a line that says what to do, never a traceback."""

from __future__ import annotations

import errno
import os
import sys
from http import HTTPStatus
from typing import TYPE_CHECKING

import click
from sqlalchemy.exc import SQLAlchemyError

from happe_study.config import ConfigError
from happe_study.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

PROGRAM = "happe-server"
EX_CHECK_FAILED = 1
INTERRUPTED = 130


class Failure(Exception):  # noqa: N818 - what a command has
    """A command can't be done. Each line of the message is shown after the program's name."""

    def __init__(self, status: int, *lines: str) -> None:
        """Say why and what to do."""
        super().__init__("\n".join(lines))
        self.status = status
        self.lines = lines


def show(lines: Iterable[str]) -> None:
    """Say lines on standard error, each after the program's name."""
    for line in lines:
        click.echo(f"{PROGRAM}: {line}", err=True)


def failure_of(error: Exception) -> Failure:
    """What an exception means to who typed the command."""
    if isinstance(error, Failure):
        return error
    for kind, said in KINDS:
        if isinstance(error, kind):
            return said(error)
    return Failure(os.EX_SOFTWARE, f"internal error: {type(error).__name__} at {_place(error)}; please report it")


def _of_usage(error: click.UsageError) -> Failure:
    hint = f"; try `{error.ctx.command_path} --help`" if error.ctx else ""
    return Failure(os.EX_USAGE, f"{' '.join(error.format_message().split()).rstrip('.')}{hint}")


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
    return Failure(os.EX_UNAVAILABLE, f"the database does not answer: {said}", "`happe-server check` says more")


def _status_of(error: OSError) -> int:
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return os.EX_NOPERM
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR):
        return os.EX_NOINPUT
    if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
        return os.EX_CANTCREAT
    if error.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL):
        return os.EX_UNAVAILABLE
    return os.EX_IOERR


ADVICE = {
    errno.EACCES: "; be root or the user that the server runs as",
    errno.EPERM: "; be root or the user that the server runs as",
    errno.ENOSPC: "; make room and try again",
    errno.EADDRINUSE: "; another server runs there, or `listen` must be another",
}


def _said(error: OSError) -> str:
    where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else _output(error)
    return f"{where}{error.strerror or error}{ADVICE.get(error.errno or 0, '')}"


KINDS: list[tuple[type[Exception], Callable[..., Failure]]] = [
    (ConfigError, lambda error: Failure(os.EX_CONFIG, *str(error).splitlines())),
    (Problem, _of_problem),
    (click.UsageError, _of_usage),
    (SQLAlchemyError, _of_database),
    (OSError, lambda error: Failure(_status_of(error), _said(error))),
]


def _output(error: Exception) -> str:
    """What could not be written, if it was standard output."""
    frame = _last(error)
    return "standard output: " if frame and frame.f_code is click.echo.__code__ else ""


def _place(error: Exception) -> str:
    frame = _last(error)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "an unknown place"


def _last(error: Exception) -> FrameType | None:
    """Where an exception was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame if trace else None


def wants_traceback() -> bool:
    """Whether a developer runs this: python -X dev."""
    return sys.flags.dev_mode
