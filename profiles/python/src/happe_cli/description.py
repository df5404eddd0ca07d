# SPDX-License-Identifier: GPL-2.0-or-later
"""The program's commands and options as data, read from click. Manual and completion are made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from happe_cli.commands import HELP, description, footer, subcommands

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Option:
    """An option, or (without names) an argument."""

    names: tuple[str, ...]
    value: str  # what its value is called; "": it has none
    text: str
    choices: tuple[str, ...] = ()
    default: str = ""
    required: bool = False
    repeated: bool = False
    takes_file: bool = False
    takes_folder: bool = False


@dataclass(frozen=True)
class Command:
    """A command under its whole path, such as "happe-server user add"."""

    path: str
    description: str
    footer: str
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]
    commands: tuple[Command, ...] = field(default_factory=tuple)

    @property
    def name(self) -> str:
        """The last word of its path."""
        return self.path.rpartition(" ")[2]

    @property
    def summary(self) -> str:
        """The first line of its description."""
        return self.description.partition("\n")[0]

    def all(self) -> Iterator[Command]:
        """The command and every one below it."""
        yield self
        for command in self.commands:
            yield from command.all()


def described(command: click.Command, path: str) -> Command:
    """A click command as data."""
    context = click.Context(command, info_name=path, **HELP)
    shown = [each for each in command.get_params(context) if not getattr(each, "hidden", False)]
    below = subcommands(command) if isinstance(command, click.Group) else {}
    return Command(
        path,
        description(command),
        footer(command),
        tuple(_option(each, context) for each in shown if isinstance(each, click.Option)),
        tuple(_argument(each) for each in shown if isinstance(each, click.Argument)),
        tuple(described(each, f"{path} {name}") for name, each in below.items()),
    )


def _option(option: click.Option, context: click.Context) -> Option:
    choices = _choices(option)
    value = "" if option.is_flag or option.count else (option.metavar or option.type.name.upper())
    default = str(option.get_default(context)) if option.show_default is True else ""
    return Option(
        tuple(sorted(option.opts, key=len)),
        value,
        _text(option),
        choices,
        default,
        option.required,
        option.multiple,
        *_takes(option),
    )


def _argument(argument: click.Argument) -> Option:
    name = argument.metavar or (argument.name or "").upper()
    text = f"One of {', '.join(_choices(argument))}" if _choices(argument) else ""
    return Option((), name, text, _choices(argument), "", argument.required, argument.nargs == -1, *_takes(argument))


def _text(option: click.Option) -> str:
    variable = f" (or ${option.envvar})" if option.show_envvar and isinstance(option.envvar, str) else ""
    return f"{option.help or ''}{variable}"


def _choices(parameter: click.Parameter) -> tuple[str, ...]:
    return tuple(map(str, parameter.type.choices)) if isinstance(parameter.type, click.Choice) else ()


def _takes(parameter: click.Parameter) -> tuple[bool, bool]:
    """Whether its value is a file's name, and whether it is a folder's."""
    kind = parameter.type
    if not isinstance(kind, click.Path) or kind.type not in (Path, None):
        return False, False
    return kind.file_okay, kind.dir_okay and not kind.file_okay
