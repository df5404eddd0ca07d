# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of a manual page, before it becomes troff or Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from happe_describe.command import Command, Option, Program

_HEADING = re.compile(r"([A-Z][A-Za-z ]{0,23}):(?: (?! )(.*))?$")


class Word(NamedTuple):
    """A piece of a line. "bold": people type it as it is; "italic": it stands for something; "": neither."""

    text: str
    style: str = ""


Line = tuple[Word, ...]


@dataclass(frozen=True)
class Section:
    """A heading."""

    title: str


@dataclass(frozen=True)
class Subsection:
    """A heading below a section: a command's path."""

    title: str


@dataclass(frozen=True)
class Synopsis:
    """How to type commands, a line each."""

    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Item:
    """A term and its meaning. The writer fills the lines of the text."""

    term: Line
    text: str


@dataclass(frozen=True)
class Paragraphs:
    """Text, with an empty line between paragraphs. Lines that begin with two spaces stay as they are."""

    text: str


Part = Section | Subsection | Synopsis | Item | Paragraphs


@dataclass(frozen=True)
class Page:
    """A manual page."""

    name: str
    section: int
    version: str
    parts: tuple[Part, ...]


def page_of(program: Program) -> Page:
    """Return a program's page. A paragraph of the footer that begins with "Some words:" begins a section SOME WORDS."""
    command = program.command
    first, *others = _sections(f"{command.footer}\n\n{program.more}")
    parts: list[Part] = [
        Section("NAME"),
        Paragraphs(_name_line(command)),
        Section("SYNOPSIS"),
        Synopsis(tuple(_synopsis(each, command) for each in command.all() if each.runs)),
        Section("DESCRIPTION"),
        *_paragraphs(command.description.partition("\n\n")[2], first[1]),
        Section("OPTIONS"),
        *map(_item, (*command.arguments, *command.options)),
        *([Section("COMMANDS")] if command.commands else []),
        *_commands(command),
    ]
    for title, text in others:
        parts += [Section(title), Paragraphs(text)]
    return Page(command.path, program.section, program.version, tuple(parts))


def configuration_page(said: Mapping[str, Any]) -> Page:
    """Return the page of happe.toml, from the options that happe-toml-describe prints."""
    parts: list[Part] = [
        Section("NAME"),
        Paragraphs("happe.toml - configuration of happed"),
        Section("DESCRIPTION"),
        Paragraphs(said["description"]),
        Section("OPTIONS"),
        *(Item((Word(each["name"], "bold"),), each["text"]) for each in said["options"]),
        Section("FILES"),
        *(Item((Word(each["name"]),), each["text"]) for each in said["files"]),
        Section("SEE ALSO"),
        Paragraphs("happectl(1), happed(8)"),
    ]
    return Page("happe.toml", 5, said["version"], tuple(parts))


def term_of(option: Option) -> Line:
    """Return how to type an option."""
    words = [word for name in option.names for word in (Word(", "), Word(name, "bold"))]
    if option.value:
        value = Word("|".join(option.choices), "bold") if option.choices else Word(option.value, "italic")
        words += [Word(" "), value]
    return tuple(words[1:])


def text_of(line: Line) -> str:
    """Return a line without its styles."""
    return "".join(word.text for word in line)


def _name_line(program: Command) -> str:
    """Return the line of a page's NAME, from "happe-sim - Does a thing."."""
    summary = program.summary.removeprefix(f"{program.path} - ").removesuffix(".")
    return f"{program.path} - {summary}"


def _synopsis(command: Command, program: Command) -> Line:
    words = [Word(command.path, "bold")]
    options = any(not _is_help(each) for each in command.options)
    if options and (command is not program or not command.commands):
        words += [Word(" ["), Word("OPTION", "italic"), Word(" ...]")]
    for argument in command.arguments:
        more = " ..." if argument.repeated else ""
        around = (" ", more) if argument.required else (" [", f"{more}]")
        words += [Word(around[0]), Word(argument.value, "italic"), Word(around[1])]
    return tuple(word for word in words if word.text)


def _commands(parent: Command) -> Iterator[Part]:
    for command in parent.commands:
        yield Subsection(command.path)
        yield Paragraphs(command.description)
        yield from map(_item, (*command.arguments, *(each for each in command.options if not _is_help(each))))
        yield from _paragraphs(command.footer)
        yield from _commands(command)


def _paragraphs(*texts: str) -> Iterator[Paragraphs]:
    return (Paragraphs(text.strip("\n")) for text in texts if text.strip("\n"))


def _is_help(option: Option) -> bool:
    return "--help" in option.names


def _item(option: Option) -> Item:
    limits = f" ({option.limits})" if option.limits else ""
    default = f" [{option.default}]" if option.default else ""
    return Item(term_of(option), f"{option.description}{limits}{default}")


def _sections(text: str) -> list[tuple[str, str]]:
    """Return headings and their text. The first text has no heading and may be empty."""
    found: list[tuple[str, list[str]]] = [("", [])]
    begins = True
    lines = text.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        heading = _HEADING.match(line) if begins else None
        if heading:
            found.append((heading[1].upper(), [heading[2]] if heading[2] else []))
        else:
            found[-1][1].append(line)
        begins = not line and not following.startswith(" ")
    return [(title, "\n".join(lines).strip("\n")) for title, lines in found]
