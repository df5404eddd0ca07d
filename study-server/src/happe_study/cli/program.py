# SPDX-License-Identifier: GPL-2.0-or-later
"""The program happe-server: its commands together, and its exit status.

Each command's module is imported when the command runs: help and completion do not wait for the server's libraries.
"""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from happe_cli.commands import HELP, LazyGroup, version_option
from happe_study.base.version import VERSION
from happe_study.cli.errors import CONFIG, PROGRAM, VARIABLE

ABOUT = """happe-server - the study server of HAPPE.

Keeps blinded studies of people and the CPU frequency governor HAPPE: protocols, sealed allocation, runs,
power traces, and an audit log that shows every change. It answers browsers and devices over HTTP."""

MORE = """Examples:
  happe-server init --administrator you@example.org     make a server; asks for your password
  happe-server run                                      serve until Ctrl-C
  happe-server study create paper-a3.toml               a draft from a protocol
  happe-server device enrol paper-a3 t61 --kind laptop  a code that the laptop enrols with
  happe-server backup /var/backups/happe/monday.tar     while it runs
  happe-server check                                    look for problems

Exit status: 0 done, 1 a check found a fault, 64 wrong usage, 65 bad data, 66 not found, 69 database or port
not available, 70 a fault of the program, 73 cannot create a file, 74 cannot write or read, 77 not allowed,
78 bad configuration.

Root may use every command. Commands run as the owner of the data folder.

Environment: HAPPE_SERVER_CONFIG names the configuration, like --config. NOTIFY_SOCKET is systemd's: the
server reports there when it is ready.

Files:
  /etc/happe/server.toml          the configuration, which explains every option
  /var/lib/happe-server           the data, unless the configuration names another folder
    server.db                     the database, unless it is PostgreSQL
    traces/                       parts of power traces
    jobs/                         jobs in progress
    secrets/                      session.key, password.key, allocation.key: 64 hexadecimal digits each

See also: happectl(1), happed(8), systemctl(1), pg_dump(1)"""


COMMANDS = {
    "init": ("happe_study.cli.setup", "Make a new server: folders, secrets, database, configuration, the lab's people"),
    "run": ("happe_study.cli.serve", "Serve until a signal ends the server"),
    "worker": ("happe_study.cli.jobs", "Do jobs until a signal ends the worker"),
    "migrate": ("happe_study.cli.serve", "Bring the database to this program's revision"),
    "user": ("happe_study.cli.users", "Accounts of staff: add, list, roles, passwords, tokens"),
    "study": (
        "happe_study.cli.studies",
        "Studies: check a protocol, create, lock, show, exclude, unblind, compute again, export, measure, verify",
    ),
    "device": ("happe_study.cli.devices", "Laptops and measuring hosts of a study"),
    "participant": ("happe_study.cli.devices", "Participants of a study"),
    "audit": ("happe_study.cli.audits", "The audit log: verify it, print its head"),
    "analyse": ("happe_study.cli.analysing", "Make the report of a study from its export; needs no server"),
    "plan": (
        "happe_study.cli.analysing",
        "Simulate studies of several sizes, and print how often they show non-inferiority and a saving",
    ),
    "job": ("happe_study.cli.jobs", "Jobs, such as reports and exports: list, cancel and retry them"),
    "backup": ("happe_study.cli.backups", "Copy database and traces to a new tar, while the server runs"),
    "restore": ("happe_study.cli.backups", "Put a backup into an empty place, and verify it"),
    "takeover": ("happe_study.cli.backups", "Let this server change its bucket, in place of the server that did"),
    "check": ("happe_study.cli.audits", "Check the configuration, secrets, database, audit log, traces and free room"),
    "openapi": ("happe_study.cli.serve", "Print the OpenAPI document of the HTTP interface"),
}


class Commands(LazyGroup):
    """All commands of the program."""

    lazy = COMMANDS


@click.group("happe-server", cls=Commands, help=ABOUT, epilog=MORE, context_settings=HELP, no_args_is_help=False)
@click.option(
    "--config",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=CONFIG,
    envvar=VARIABLE,
    help="The configuration",
    show_default=True,
    show_envvar=True,
)
@version_option("happe-server", VERSION)
@click.pass_context
def program(context: click.Context, path: Path) -> None:
    """Set up the server of `--config`, whose configuration is read when a command needs it."""
    from happe_study.cli.server import Server

    context.call_on_close(partial(os.umask, os.umask(0o077)))
    context.obj = Server(path)
    context.call_on_close(context.obj.close)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program. Ends by SystemExit with a status of sysexits.h."""
    PROGRAM.run(program, arguments)
