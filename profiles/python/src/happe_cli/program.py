# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a program, and turns its errors into messages and an exit status."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import click

from happe_cli.errors import INTERRUPTED, Failure, of_mistake, of_system, of_usage


@dataclass(frozen=True)
class Program:
    """A program, by its name.

    `meaning` explains the program's own exceptions, and returns None for others. `advice` says by errno what to do.
    """

    name: str
    meaning: Callable[[Exception], Failure | None]
    advice: Mapping[int, str] = field(default_factory=dict)

    def show(self, lines: Iterable[str]) -> None:
        """Print lines to standard error, each after the program's name."""
        for line in lines:
            click.echo(f"{self.name}: {line}", err=True)

    def failure_of(self, error: Exception) -> Failure:
        """Explain an exception to the person who typed the command."""
        if isinstance(error, Failure):
            return error
        if isinstance(error, click.UsageError):
            return of_usage(error)
        if (own := self.meaning(error)) is not None:
            return own
        return of_system(error, self.advice) if isinstance(error, OSError) else of_mistake(error)

    def run(self, command: click.Command, arguments: Sequence[str] | None = None) -> None:
        """Run a command. Ends by SystemExit with a status of sysexits.h; python -X dev shows tracebacks."""
        # A command may import numpy. Its matrices are small here, and each waiting thread of BLAS would cost a core.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        try:
            ended = command.main(args=arguments, prog_name=self.name, standalone_mode=False)
            sys.stdout.flush()
            status = ended if isinstance(ended, int) else os.EX_OK
        except (click.Abort, KeyboardInterrupt):
            self.show(["interrupted"])
            status = INTERRUPTED
        except Exception as error:
            if sys.flags.dev_mode:
                raise
            failure = self.failure_of(error)
            if failure.status == os.EX_IOERR:
                _drop_output()
            self.show(failure.lines)
            status = failure.status
        sys.exit(status)


def _drop_output() -> None:
    """Drop the output that standard output has refused; else Python would try to write it again."""
    if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
