# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree's documents, read as Markdown: links, anchors, code, and the commands in it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from happe_docs import manuals
from program import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from markdown_it.token import Token

_NO_WORD = re.compile(r"[^\w\- ]")
_REDIRECTION = re.compile(r"\d?[<>].*")
_SET = re.compile(r"[A-Z_]+=\S*")
_PROMPTS = {"sudo", "nice", "exec"}
_OPTION = re.compile(r"--?[A-Za-z]")
_COMMAND = re.compile(r"[a-z][a-z-]+")

EVERYWHERE = {"-h": False, "--help": False, "--version": False, "--describe": False}
_SHELL = {"", "bash", "sh", "text"}


@dataclass
class Document:
    """A Markdown file: where it is, its links with their lines, its headings' anchors, and its code."""

    path: Path
    links: list[tuple[int, str]] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    spans: list[tuple[int, str]] = field(default_factory=list)  # `code` in a line
    blocks: list[tuple[int, str]] = field(default_factory=list)  # each line of the blocks that may have commands

    @property
    def name(self) -> str:
        """Its path from the root."""
        return str(self.path.relative_to(ROOT))


@cache
def documents() -> tuple[Document, ...]:
    """Return all documents."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    return tuple(read(path) for path in sorted(found))


@cache
def program_pages() -> tuple[manuals.Page, ...]:
    """Return the manual pages of all programs, by their own descriptions. This takes seconds."""
    return tuple(manuals.pages(ROOT / "build/bin"))


def read(path: Path) -> Document:
    """Read a document."""
    document = Document(path)
    line = 0
    for token in MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8")):
        line = token.map[0] + 1 if token.map else line
        if token.type in ("fence", "code_block"):
            if token.info in _SHELL:
                document.blocks += joined(token.content, line + (token.type == "fence"))
        elif token.type == "inline":
            _read_inline(document, token, line)
    return document


def joined(text: str, line: int) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers. Join lines that a backslash continues."""
    begun = ""
    for number, each in enumerate(text.splitlines(), start=line):
        if each.endswith("\\"):
            begun += each[:-1] + " "
        else:
            yield number, begun + each
            begun = ""


def _read_inline(document: Document, token: Token, line: int) -> None:
    text = ""
    for child in token.children or ():
        text += child.content
        if child.type == "code_inline":
            document.spans.append((line, child.content))
        for name in ("href", "src"):
            if address := child.attrGet(name):
                document.links.append((line, str(address)))
        line += child.type == "softbreak"
    if token.level == 1:  # paragraphs have no anchor, but an extra one does no harm
        document.anchors.add(anchor(text))


def anchor(heading: str) -> str:
    """A heading's anchor, as hosting sites and MyST make it."""
    return _NO_WORD.sub("", heading.lower()).replace(" ", "-")


def commands(text: str) -> Iterator[list[str]]:
    """Yield the commands of a shell's line as lists of words, without prompts, assignments and redirections."""
    for part in re.split(r"\s(?:\||&&|\|\||;)\s|;\s|,\s(?=happe)|\s#\s.*$|\s{3,}.*$", text.strip()):
        words = [word for word in _words(part) if not _REDIRECTION.fullmatch(word)]
        while words and (words[0] in _PROMPTS or _SET.fullmatch(words[0])):
            words = words[1:]
        if words:
            yield words


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a later line ends the quote
        return text.split()


def unknown_words(words: list[str], known: dict[str, dict[str, bool]]) -> str | None:
    """Say which word a program does not know; None if it knows all. `known`: options of each command's path."""
    path, options, rest = words[0], known[words[0]] | EVERYWHERE, iter(words[1:])
    for word in rest:
        name = word.partition("=")[0]
        if word == "--":
            return None
        if f"{path} {word}" in known:
            path = f"{path} {word}"
            options = options | known[path]
        elif _OPTION.match(word) and name not in options:
            return f"{path} has no {name}"
        elif options.get(word):
            next(rest, None)
        elif _has_commands(path, known) and _COMMAND.fullmatch(word):
            return f"{path} has no command {word}"
    return None


def _has_commands(path: str, known: Iterable[str]) -> bool:
    return any(each.startswith(f"{path} ") for each in known)
