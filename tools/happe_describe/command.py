# SPDX-License-Identifier: GPL-2.0-or-later
"""A program's commands and options, from the JSON that `PROGRAM --describe` prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True)
class Option:
    """An option, or (without names) a positional argument."""

    names: tuple[str, ...]  # with their dashes
    value: str  # the name of its value; "": it takes none
    description: str
    choices: tuple[str, ...]
    limits: str  # "1 to 64"; "": there are none
    default: str  # "": it has none to show
    required: bool
    repeated: bool
    takes: str  # "file" or "folder" if its value names one, else ""


@dataclass(frozen=True)
class Command:
    """A command with its whole path, such as "happe-server user add"."""

    path: str
    description: str
    footer: str
    runs: bool  # can run without one of its own commands
    options: tuple[Option, ...]
    arguments: tuple[Option, ...]
    commands: tuple[Command, ...]

    @property
    def name(self) -> str:
        """The last word of its path."""
        return self.path.rpartition(" ")[2]

    @property
    def summary(self) -> str:
        """The first line of its description."""
        return self.description.partition("\n")[0]

    def all(self) -> Iterator[Command]:
        """Return the command and every command below it."""
        yield self
        for command in self.commands:
            yield from command.all()


@dataclass(frozen=True)
class Program:
    """A program. `section` is its manual's section. `more` has the page's last sections ("See also: ...")."""

    command: Command
    version: str
    section: int
    more: str


def program_of(said: Mapping[str, Any]) -> Program:
    """Return the program that this JSON describes. Raises KeyError and TypeError for other JSON."""
    return Program(command_of(said["command"]), said["version"], said["section"], said["more"])


def command_of(said: Mapping[str, Any]) -> Command:
    """Return a command and all below it."""
    return Command(
        said["path"],
        said["description"],
        said["footer"],
        said["runs"],
        tuple(map(_option, said["options"])),
        tuple(map(_option, said["arguments"])),
        tuple(map(command_of, said["commands"])),
    )


def _option(said: Mapping[str, Any]) -> Option:
    lists = {name: tuple(said[name]) for name in ("names", "choices")}
    return Option(**{**said, **lists})
