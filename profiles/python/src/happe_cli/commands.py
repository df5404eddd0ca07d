# SPDX-License-Identifier: GPL-2.0-or-later
"""click's commands and groups in the look of HAPPE's programs: help keeps its line breaks, with examples at the end."""

import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from keyword import iskeyword
from typing import Any

import click

HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 108}


class Command(click.Command):
    """A command that shows description and epilog with their line breaks."""

    def format_help_text(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the description."""
        text = description(self)
        if text:
            formatter.write("\n")
            formatter.write("".join(f"{line}\n" for line in text.splitlines()))

    def format_epilog(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the text below the options: more help, and examples."""
        if self.epilog:
            formatter.write("\n")
            formatter.write("".join(f"{line}\n" for line in self.epilog.splitlines()))


class Group(Command, click.Group):
    """A command with subcommands."""

    command_class = Command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        """Show commands in the order in which they were added."""
        with formatter.section("Commands"):
            formatter.write_dl(self.summaries())

    def summaries(self) -> list[tuple[str, str]]:
        """Names and summaries, in the order in which the commands were added."""
        return [(name, summary(command)) for name, command in self.commands.items()]

    def list_commands(self, _context: click.Context) -> list[str]:
        """Names, in the order in which they were added."""
        return list(self.commands)


class LazyGroup(Group):
    """A group that imports a command only to run it, so that its help needs no import.

    `lazy` maps each name, in order, to the module that has a command of that name, and to the command's summary.
    """

    lazy: Mapping[str, tuple[str, str]]

    def list_commands(self, _context: click.Context) -> list[str]:
        """Names, in the order of `lazy`."""
        return list(self.lazy)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        """Import a command."""
        return self.loaded(name) if name in self.lazy else None

    def loaded(self, name: str) -> click.Command:
        """Import and return the command of this name."""
        module, _summary = self.lazy[name]
        command: click.Command = getattr(import_module(module), f"{name}_" if iskeyword(name) else name)
        return command

    def summaries(self) -> list[tuple[str, str]]:
        """Names and summaries, without an import."""
        return [(name, text) for name, (_module, text) in self.lazy.items()]


def description(command: click.Command) -> str:
    """A command's description. The first line is its summary, without the docstring's full stop."""
    first, newline, rest = inspect.cleandoc(command.help or "").partition("\n")
    return f"{first.removesuffix('.')}{newline}{rest}"


def summary(command: click.Command) -> str:
    """The first line of the description."""
    return description(command).partition("\n")[0]


def examples(*lines: str) -> str:
    """An epilog with examples."""
    return "\n".join(["Examples:", *(f"  {line}" for line in lines)])


def version_option(name: str, version: str) -> Callable[[Any], Any]:
    """`--version`, of a program of this name."""
    said = {"prog_name": name, "message": "%(prog)s %(version)s", "help": "Print the version"}
    return click.version_option(version, **said)


json_option: Callable[[Any], Any] = click.option("--json", "as_json", is_flag=True, help="Print JSON")


def print_json(value: object) -> None:
    """Print a document for programs."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(rows: Iterable[Iterable[object]]) -> None:
    """Print rows in columns, each as wide as its longest cell."""
    cells = [["" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def print_answer(document: object, shown: str | Iterable[Iterable[object]], *, as_json: bool) -> None:
    """Print a document for programs, or else a text or the rows of a table for people."""
    if as_json:
        print_json(document)
    elif isinstance(shown, str):
        click.echo(shown)
    else:
        print_table(shown)


def is_terminal() -> bool:
    """Whether a person reads standard error."""
    return sys.stderr.isatty()
