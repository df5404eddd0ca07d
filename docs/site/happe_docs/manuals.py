# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs' manual pages as Markdown, and their commands with options, of what they tell (`PROGRAM --describe`)."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from happe_describe.command import program_of
from happe_describe.page import Item, Paragraphs, Section, Subsection, Synopsis, configuration_page, page_of, text_of
from happe_docs.markdown import code, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from happe_describe import page as pages_of
    from happe_describe.command import Command

# Programs whose pages are shown, in the order of the reference, with their readers.
PROGRAMS = {
    "happectl": "at the governor",
    "happed": "the governor as a service",
    "happed-keys": "what opens keyboards for it",
    "happe-indicator": "overlay, session agent, owner's window",
    "happe-study": "a participant's sitting",
    "happe-server": "the study server",
    "happe-power": "the power logger",
    "happe-sim": "the governor in simulation",
}
CONFIGURATION = "happe-toml-describe"


class ManualError(Exception):
    """A program does not tell what it is."""


@dataclass(frozen=True)
class Page:
    """A manual page, and each command by its whole path, "happe-server user add": its options; which take a value."""

    page: pages_of.Page
    commands: dict[str, dict[str, bool]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The page's name."""
        return self.page.name

    def markdown(self) -> str:
        """The page. Its sections are of the second level, commands of the third."""
        return "\n\n".join(block for part in self.page.parts for block in _blocks(part)) + "\n"


def pages(folder: Path) -> list[Page]:
    """The pages of all programs, and happe.toml's. Raises ManualError."""
    return [*(page(said(folder / each, "--describe")) for each in PROGRAMS), Page(_configuration(folder))]


def page(told: dict[str, Any]) -> Page:
    """The page of a program."""
    program = program_of(told)
    return Page(page_of(program), {each.path: _options(each) for each in program.command.all()})


def said(program: Path, *options: str) -> dict[str, Any]:
    """What a program tells of itself. Raises ManualError."""
    try:
        ran = subprocess.run([program, *options], capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ManualError(f"{program}: tells nothing ({error}); `make build` makes the programs") from error
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


def _configuration(folder: Path) -> pages_of.Page:
    return configuration_page(said(folder / CONFIGURATION))


def _options(command: Command) -> dict[str, bool]:
    return {name: bool(option.value) for option in command.options for name in option.names}


def _blocks(part: pages_of.Part) -> Iterator[str]:
    match part:
        case Section(title):
            yield f"## {title.capitalize()}"
        case Subsection(title):
            yield f"### {code(title)}"
        case Synopsis(lines):
            yield _verbatim([text_of(line) for line in lines])
        case Item(term, text):
            indented = "\n".join(f"  {escaped(line)}" for line in text.splitlines())
            yield f"- {code(text_of(term))}\n\n{indented}"
        case Paragraphs(text):
            yield from _paragraphs(text)


def _paragraphs(text: str) -> Iterator[str]:
    """Blocks of lines of one kind: text, or as they are."""
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        if block and (not line or line.startswith("  ") != block[0].startswith("  ")):
            example = block[0].startswith("  ")
            yield _verbatim([each[2:] for each in block]) if example else "\n".join(map(escaped, block))
            block = []
        if line:
            block.append(line)


def _verbatim(lines: list[str]) -> str:
    return "\n".join(["```text", *lines, "```"])
