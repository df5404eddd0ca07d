# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-server's commands put together, and how the program ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from happe_study.app import VERSION
from happe_study.cli import audits, backups, checks, devices, errors, self_description, serve, setup, studies, users
from happe_study.cli.commands import HELP, Command, Group
from happe_study.cli.server import DEFAULT_CONFIG, VARIABLE, Server

if TYPE_CHECKING:
    from collections.abc import Sequence

ABOUT = """happe-server - the study server of HAPPE.

Keeps blinded studies of people and the CPU frequency governor HAPPE: protocols, sealed allocation, runs,
power traces, and an audit log that shows every change. It answers browsers and devices over HTTP."""

MORE = """Examples:
  happe-server init --administrator you@example.org     make a server; asks for your password
  happe-server run                                      serve until Ctrl-C
  happe-server study create paper-a3.toml               a draft from a protocol
  happe-server device enrol paper-a3 t61 --kind laptop  a code that the laptop enrols with
  happe-server backup /var/backups/happe/monday         while it runs
  happe-server check                                    whether all is well

Exit status: 0 done, 1 a check found something, 64 wrong usage, 65 bad data, 66 no such thing, 69 database or
port not available, 70 a mistake of the program's, 73 cannot create a file, 74 cannot write or read, 77 not
allowed, 78 bad configuration.

Root may use every command: it works as the user whose the data folder is."""


@click.group("happe-server", cls=Group, help=ABOUT, epilog=MORE, context_settings=HELP, no_args_is_help=False)
@click.option(
    "--config",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=DEFAULT_CONFIG,
    envvar=VARIABLE,
    help="The configuration",
    show_default=True,
    show_envvar=True,
)
@click.version_option(VERSION, prog_name="happe-server", message="%(prog)s %(version)s", help="Print the version")
@click.option(
    "--manual", is_flag=True, is_eager=True, expose_value=False, hidden=True, callback=self_description.manual
)
@click.option(
    "--completion",
    type=click.Choice(["bash", "zsh"]),
    is_eager=True,
    expose_value=False,
    hidden=True,
    callback=self_description.completion,
)
@click.pass_context
def program(context: click.Context, path: Path) -> None:
    """Begin with a configuration that is read when a command needs it."""
    os.umask(0o077)
    context.obj = Server(path)
    context.call_on_close(context.obj.close)


COMMANDS: list[Command | Group] = [
    setup.init,
    serve.run,
    serve.migrate,
    users.user,
    studies.study,
    devices.device,
    devices.participant,
    audits.audit,
    backups.backup,
    backups.restore,
    checks.check,
    serve.openapi,
]
for _command in COMMANDS:
    program.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program. Ends by SystemExit with a status of sysexits.h."""
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        errors.show(["interrupted"])
        status = errors.INTERRUPTED
    except Exception as error:
        if errors.wants_traceback():
            raise
        failure = errors.failure_of(error)
        if failure.status == os.EX_IOERR:
            _drop_output()
        errors.show(failure.lines)
        status = failure.status
    sys.exit(status)


def _run(arguments: Sequence[str] | None) -> int:
    """The status by which a command ended itself; commands return nothing."""
    ended = program.main(args=arguments, prog_name="happe-server", standalone_mode=False)
    return ended if isinstance(ended, int) else os.EX_OK


def _drop_output() -> None:
    """Forget what standard output has not taken, or Python would try it once more."""
    if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
