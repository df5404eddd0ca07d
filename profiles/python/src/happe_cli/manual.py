# SPDX-License-Identifier: GPL-2.0-or-later
"""The manual page, in the look of HAPPE's other programs (packaging/cli/cpp/manual.cpp)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_cli.description import Command, Option

SPELLED = str.maketrans(
    {"\\": "\\(rs", "-": "\\-", "'": "\\(aq", '"': "\\(dq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}
)
_HEADING = re.compile(r"([A-Z][A-Za-z ]{0,23}):(?: (?! )(.*))?$")


def troff(text: str) -> str:
    """Text as troff has it: characters that it would print as others, and those beyond ASCII, spelled."""
    return "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text.translate(SPELLED))


def manual_page(program: Command, section: int, version: str, more: str) -> str:
    """A program's manual page. `more` has further sections, each a heading that ends with a colon and its text."""
    name, *rest = program.description.split("\n\n", 1)
    lines = [f'.TH "{troff(program.path.upper())}" {section} "" "HAPPE {troff(version)}"']
    lines += ['.SH "NAME"', troff(name.rstrip(".")), '.SH "SYNOPSIS"']
    for command in program.all():
        if not command.commands:
            lines += [_synopsis(command), ".br"]
    first, *others = _sections(f"{program.footer}\n\n{more}")
    lines += ['.SH "DESCRIPTION"', *_text("\n\n".join(rest)), *([".PP", *_text(first[1])] if first[1].strip() else [])]
    lines += ['.SH "OPTIONS"', *_items(program.options), '.SH "COMMANDS"', *_commands(program)]
    for title, text in others:
        lines += [f'.SH "{troff(title)}"', *_text(text)]
    return "\n".join(lines) + "\n"


def _synopsis(command: Command) -> str:
    words = [_bold(command.path)]
    if any("--help" not in option.names for option in command.options):
        words.append(f"[{_italic('OPTION')} ...]")
    for argument in command.arguments:
        word = _italic(argument.value) + (" ..." if argument.repeated else "")
        words.append(word if argument.required else f"[{word}]")
    return " ".join(words)


def _commands(parent: Command) -> Iterator[str]:
    for command in parent.commands:
        yield f'.SS "{troff(command.path)}"'
        yield from _text(command.description)
        yield from _items((*command.arguments, *(o for o in command.options if "--help" not in o.names)))
        if command.footer:
            yield ".PP"
            yield from _text(command.footer)
        yield from _commands(command)


def _items(options: tuple[Option, ...]) -> Iterator[str]:
    for option in options:
        value = _bold("|".join(option.choices)) if option.choices else _italic(option.value)
        names = ", ".join(map(_bold, option.names))
        yield ".TP"
        yield f"{names} {value}".strip() if option.value else names
        yield from map(_line, f"{option.text}{f' [{option.default}]' if option.default else ''}".splitlines())


def _text(text: str) -> Iterator[str]:
    """Blocks of lines of one kind: filled, or indented; an empty line between them is a paragraph."""
    between, example = False, False
    for line in text.splitlines():
        if not line:
            between = True
            continue
        if example and not line.startswith("  "):
            yield from (".EE", ".RE")
            example = False
        if between:
            yield from (() if example else (".PP",))
            between = False
        if line.startswith("  ") and not example:
            yield from (".RS 4", ".EX")
            example = True
        yield _line(line.removeprefix("  ") if example else line)
    if example:
        yield from (".EE", ".RE")


def _sections(text: str) -> list[tuple[str, str]]:
    """Headings and their text; the first has no heading and may be empty."""
    found: list[tuple[str, list[str]]] = [("", [])]
    begins = True
    for line in text.splitlines():
        heading = _HEADING.match(line) if begins else None
        if heading:
            found.append((heading[1].upper(), [heading[2]] if heading[2] else []))
        else:
            found[-1][1].append(line)
        begins = not line
    return [(title, "\n".join(lines).strip("\n")) for title, lines in found]


def _line(text: str) -> str:
    """A line of text. One that begins with a dot would be a request."""
    return (r"\&" if text.startswith(".") else "") + troff(text)


def _bold(text: str) -> str:
    return rf"\fB{troff(text)}\fR"


def _italic(text: str) -> str:
    return rf"\fI{troff(text)}\fR"
