# SPDX-License-Identifier: GPL-2.0-or-later
"""`--version`, and hidden `--manual` and `--completion`: what a package installs, made from the commands themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from happe_cli.completion import bash_completion, zsh_completion
from happe_cli.description import described
from happe_cli.manual import manual_page

if TYPE_CHECKING:
    from collections.abc import Callable

    from happe_cli.description import Command

HIDDEN: dict[str, Any] = {"is_eager": True, "expose_value": False, "hidden": True}


def describes_itself(name: str, version: str, section: int, more: str) -> Callable[[Any], Any]:
    """A decorator of the program's group. `section` is the manual's; `more` has the page's last sections."""

    def manual(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's callback
        if wanted:
            click.echo(manual_page(_tree(context), section, version, more), nl=False)
            context.exit()

    def decorate(group: Any) -> Any:  # noqa: ANN401 - a click command or what becomes one
        shells = click.Choice(["bash", "zsh"])
        group = click.option("--completion", type=shells, callback=_completion, **HIDDEN)(group)
        group = click.option("--manual", is_flag=True, callback=manual, **HIDDEN)(group)
        said = {"prog_name": name, "message": "%(prog)s %(version)s", "help": "Print the version"}
        return click.version_option(version, **said)(group)

    return decorate


def _completion(context: click.Context, _parameter: click.Parameter, shell: str | None) -> None:
    if shell is not None:
        click.echo({"bash": bash_completion, "zsh": zsh_completion}[shell](_tree(context)), nl=False)
        context.exit()


def _tree(context: click.Context) -> Command:
    return described(context.command, context.command.name or "")
