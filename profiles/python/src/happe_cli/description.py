# SPDX-License-Identifier: GPL-2.0-or-later
"""Adds `--version`, and a hidden `--describe` that prints the program's commands and options as JSON.

The build of a package makes manual page and completion from that JSON (tools/happe_describe).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import HELP, description, footer, print_json, subcommands

if TYPE_CHECKING:
    from collections.abc import Callable

Json = dict[str, Any]


def describes_itself(name: str, version: str, section: int, more: str) -> Callable[[Any], Any]:
    """Return a decorator of the program's group. `section` is the manual's; `more` has the page's last sections."""

    def describe(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's callback
        if wanted:
            command = described(context.command, context.command.name or "")
            print_json({"section": section, "version": version, "more": more, "command": command})
            context.exit()

    def decorate(group: Any) -> Any:  # noqa: ANN401 - a click command or what becomes one
        hidden: Json = {"is_eager": True, "expose_value": False, "hidden": True}
        group = click.option("--describe", is_flag=True, callback=describe, **hidden)(group)
        said = {"prog_name": name, "message": "%(prog)s %(version)s", "help": "Print the version"}
        return click.version_option(version, **said)(group)

    return decorate


def described(command: click.Command, path: str) -> Json:
    """Describe a command, by its whole path, and all commands below it, without hidden ones."""
    context = click.Context(command, info_name=path, **HELP)
    shown = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    below = subcommands(command) if isinstance(command, click.Group) else {}
    return {
        "path": path,
        "description": description(command),
        "footer": footer(command),
        "runs": not below,
        "options": [_option(each, context) for each in shown if isinstance(each, click.Option)],
        "arguments": [_argument(each) for each in shown if isinstance(each, click.Argument)],
        "commands": [described(each, f"{path} {name}") for name, each in below.items()],
    }


def _option(option: click.Option, context: click.Context) -> Json:
    variable = f" (or ${option.envvar})" if option.show_envvar and isinstance(option.envvar, str) else ""
    return _parameter(option) | {
        "names": sorted(option.opts, key=len),
        "value": "" if option.is_flag or option.count else (option.metavar or option.type.name.upper()),
        "description": f"{option.help or ''}{variable}",
        "default": str(option.get_default(context)) if option.show_default is True else "",
        "repeated": option.multiple,
    }


def _argument(argument: click.Argument) -> Json:
    choices = _choices(argument)
    return _parameter(argument) | {
        "names": [],
        "value": argument.metavar or (argument.name or "").upper(),
        "description": f"One of {', '.join(choices)}" if choices else "",
        "default": "",
        "repeated": argument.nargs == -1,
    }


def _parameter(parameter: click.Parameter) -> Json:
    return {
        "choices": _choices(parameter),
        "limits": "",
        "required": parameter.required,
        "takes": _taken(parameter.type),
    }


def _choices(parameter: click.Parameter) -> list[str]:
    return list(map(str, parameter.type.choices)) if isinstance(parameter.type, click.Choice) else []


def _taken(kind: object) -> str:
    """What a value of this type names: a file, a folder, or neither (an empty text)."""
    if not isinstance(kind, click.Path) or kind.type not in (Path, None):
        return ""
    return "file" if kind.file_okay else "folder"
