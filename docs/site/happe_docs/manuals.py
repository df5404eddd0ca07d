# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs' own manual pages (`PROGRAM --manual`), as Markdown and as commands with their options.

Both makers of these pages, packaging/cli/cpp and happe_cli, write the same small part of man(7).
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from happe_docs.markdown import code, escaped

if TYPE_CHECKING:
    from pathlib import Path

# Programs whose pages are shown, in the order of the reference; who it is for.
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
CONFIGURATION = ("happe-toml-manual", "happe.toml")

_NAMED = {"(rs": "\\", "(aq": "'", "(dq": '"', "(ga": "`", "(ha": "^", "(ti": "~", "&": "", "-": "-", "e": "\\"}
_ESCAPE = re.compile(r"\\(f[BIR]|\(..|\[u[0-9A-F]{4,6}\]|[&e-])")
_TITLE = re.compile(r'\.S[HS] "(.*)"')
_OPTION = re.compile(r"(?<!\S)--?[A-Za-z][\w-]*")


class ManualError(Exception):
    """A program gives no manual page."""


@dataclass(frozen=True)
class Page:
    """A manual page: its name, and its lines of troff."""

    name: str
    lines: tuple[str, ...]

    def commands(self) -> dict[str, dict[str, bool]]:
        """Every command by its whole path, "happe-server user add": its own options, and whether each takes a value."""
        found: dict[str, dict[str, bool]] = {self.name: {}}
        path, after_term = self.name, False
        for line in self.lines:
            if title := _TITLE.match(line):
                path = plain(title[1]) if line.startswith(".SS") else self.name
                found.setdefault(path, {})
            elif after_term and line.startswith(r"\fB"):
                term = plain(line)
                found[path] |= dict.fromkeys(_OPTION.findall(term), bool(_OPTION.sub("", term).strip(", ")))
            after_term = line == ".TP"
        return found

    def markdown(self) -> str:
        """The page. Its sections are of the second level, commands of the third."""
        writer = _Writer()
        for line in (*self.lines, '.SH ""'):
            writer.take(line)
        return "\n".join(writer.lines[:-3]) + "\n"


def page_of(program: Path, name: str | None = None, *options: str) -> Page:
    """What a program says of itself. Raises ManualError."""
    try:
        ran = subprocess.run([program, *options], capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ManualError(f"{program}: no manual page ({error}); `make build` makes the programs") from error
    return Page(name or program.name, tuple(ran.stdout.splitlines()))


def pages(folder: Path) -> list[Page]:
    """The pages of all programs, and happe.toml's. Raises ManualError."""
    program, name = CONFIGURATION
    return [*(page_of(folder / each, each, "--manual") for each in PROGRAMS), page_of(folder / program, name)]


def plain(troff: str) -> str:
    """A line of troff as text."""
    return _ESCAPE.sub(_character, troff)


def _character(escape: re.Match[str]) -> str:
    word = escape[1]
    if word.startswith("["):
        return chr(int(word[2:-1], 16))
    return "" if word.startswith("f") else _NAMED[word]


class _Writer:
    """Lines of Markdown, made of lines of troff in their order."""

    def __init__(self) -> None:
        """Begin a page."""
        self.lines: list[str] = []
        self._indent = ""  # of an item's text
        self._verbatim = False
        self._term = False  # whether the next line is an item's name

    def take(self, line: str) -> None:
        """Take the next line."""
        request = line.partition(" ")[0] if line.startswith(".") else ""
        if request in (".SH", ".SS"):
            self._close()
            self._heading(plain(line.partition('"')[2].rstrip('"')), "##" if request == ".SH" else "###")
        elif request in (".TP", ".PP"):
            self._indent, self._term = "", request == ".TP"
            self.lines.append("")
        elif request == ".EX":
            self._open()
        elif request == ".EE":
            self._close()
        elif not request:
            self._text(plain(line))

    def _text(self, text: str) -> None:
        if self._term:
            self.lines += [f"- {code(text)}", ""]
            self._indent, self._term = "  ", False
        else:
            self.lines.append(self._indent + (text if self._verbatim else escaped(text)))

    def _heading(self, words: str, level: str) -> None:
        self._indent = ""
        self.lines += ["", f"{level} {words.capitalize() if level == '##' else code(words)}", ""]
        if words == "SYNOPSIS":
            self._open()

    def _open(self) -> None:
        self.lines += ["", f"{self._indent}```text"]
        self._verbatim = True

    def _close(self) -> None:
        if self._verbatim:
            self.lines += [f"{self._indent}```", ""]
        self._verbatim = False
