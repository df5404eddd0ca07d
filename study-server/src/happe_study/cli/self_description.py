# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server --manual` and `--completion`: what a package installs, made from the commands themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from happe_study.app import VERSION
from happe_study.cli.completion import bash_completion, zsh_completion
from happe_study.cli.description import described
from happe_study.cli.manual import manual_page

if TYPE_CHECKING:
    from happe_study.cli.description import Command

SECTION = 8
MORE = """Environment: HAPPE_SERVER_CONFIG names the configuration, as --config does. NOTIFY_SOCKET, of systemd: it is
told when the server is ready.

Files:
  /etc/happe/server.toml          the configuration; every option is explained in it
  /var/lib/happe-server           the data, unless the configuration names another folder
    server.db                     the database, unless it is PostgreSQL
    traces/                       parts of power traces
    secrets/                      session.key, password.key, allocation.key: 64 hexadecimal digits each

See also: happectl(1), happed(8), systemctl(1), pg_dump(1)"""


def manual(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's callback
    """Print the manual page."""
    if wanted:
        click.echo(manual_page(_tree(context), SECTION, VERSION, MORE), nl=False)
        context.exit()


def completion(context: click.Context, _parameter: click.Parameter, shell: str | None) -> None:
    """Print a shell's completion."""
    if shell is not None:
        click.echo({"bash": bash_completion, "zsh": zsh_completion}[shell](_tree(context)), nl=False)
        context.exit()


def _tree(context: click.Context) -> Command:
    return described(context.command, context.command.name or "")
