# SPDX-License-Identifier: GPL-2.0-or-later
"""Maps errors to exit statuses (sysexits.h). An error prints a line that says what to do, never a traceback."""

import errno
import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import FrameType

import click

EX_CHECK_FAILED = 1
INTERRUPTED = 130

ADVICE = {errno.ENOSPC: "make room and try again"}


class Failure(Exception):  # noqa: N818 - the name for a command's end
    """A command can't be done. The program prints each line of the message after its own name."""

    def __init__(self, status: int, *lines: str) -> None:
        """Take the exit status, and the lines that say why and what to do."""
        super().__init__("\n".join(lines))
        self.status = status
        self.lines = lines


def of_usage(error: click.UsageError) -> Failure:
    """Describe a wrong command line. For an unknown command or option, name it and the nearest known one."""
    if isinstance(error, click.NoSuchCommand) and error.ctx and isinstance(error.ctx.command, click.Group):
        return _of_unknown("command", error.command_name, error.ctx.command.list_commands(error.ctx), error.ctx)
    if isinstance(error, click.NoSuchOption):
        return _of_unknown("option", error.option_name, error.possibilities or (), error.ctx)
    said = " ".join(error.format_message().split()).rstrip(".")
    if isinstance(error, click.BadParameter) and error.param and isinstance(error.param.type, click.Path):
        return Failure(os.EX_NOINPUT, said)
    return Failure(os.EX_USAGE, f"{said}{_hint(error.ctx)}")


def _of_unknown(kind: str, typed: str, names: Iterable[str], context: click.Context | None) -> Failure:
    near = get_close_matches(typed, names, 1)
    hint = f"; did you mean '{near[0]}'?" if near else _hint(context)
    return Failure(os.EX_USAGE, f"unknown {kind} '{typed}'{hint}")


def _hint(context: click.Context | None) -> str:
    return f"; try `{context.command_path} --help`" if context else ""


def of_system(error: OSError, advice: Mapping[int, str]) -> Failure:
    """Describe an error of the system. `advice` says by errno what to do, in addition to ADVICE."""
    where = f"{os.fsdecode(error.filename)}: " if error.filename is not None else _output(error)
    to_do = (ADVICE | dict(advice)).get(error.errno or 0)
    return Failure(_status_of(error), f"{where}{error.strerror or error}{f'; {to_do}' if to_do else ''}")


def of_mistake(error: Exception) -> Failure:
    """Describe an unexpected exception: a mistake of the program."""
    frame = _last(error)
    place = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "an unknown place"
    return Failure(os.EX_SOFTWARE, f"internal error: {type(error).__name__} at {place}; please report it")


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


def _output(error: Exception) -> str:
    """Name standard output, if the program could not write to it."""
    frame = _last(error)
    return "standard output: " if frame and frame.f_code is click.echo.__code__ else ""


def _last(error: Exception) -> FrameType | None:
    """The frame in which an exception was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame if trace else None
