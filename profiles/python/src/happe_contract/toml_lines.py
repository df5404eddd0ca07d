# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads TOML with line numbers: the standard library's tomllib reads the values, tree-sitter's grammar their lines.

Neither tomllib nor the libraries that keep comments and layout give the positions of values.
"""

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import tree_sitter_toml
from tree_sitter import Language, Node, Parser, Tree

Path = tuple[str | int, ...]  # keys and list indices from 0, from the top

DEEPEST = 16  # levels of lists, tables and dotted keys, in nodes of the grammar; a protocol needs 8
MOST_DOTS = 200  # in a line of a file that isn't TOML: tomllib's time and memory grow with the square of a dotted key
LONGEST_SHOWN = 60

_LANGUAGE = Language(tree_sitter_toml.language())
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LONG_NUMBER = re.compile(r"[0-9][0-9_]{4300}")


class TomlError(Exception):
    """The content is not TOML, or is nested too deeply. `line` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        """Take the line and the reason."""
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass
class Document:
    """The values of a TOML text, and the line of each key, table and list item."""

    data: dict[str, Any]
    lines: dict[Path, int] = field(default_factory=dict)

    def line(self, path: Path) -> int:
        """The line of a path, from 1; for a missing path, the line of the innermost table that would hold it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def read(content: bytes) -> Document:
    """Read a TOML file's content, which may begin with a byte order mark. Raises TomlError if it is not TOML."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TomlError(content.count(b"\n", 0, error.start) + 1, "is not UTF-8") from None
    tree = Parser(_LANGUAGE).parse(text.encode())
    _check_depth(tree)
    if tree.root_node.has_error and (line := _dotted_line(text)):
        raise TomlError(line, "is not TOML, or has too many dots in a line")
    document = Document(_values(text))
    _Places(document.lines).document(tree.root_node)
    return document


def shown(key: str) -> str:
    """Write a key as in TOML: bare if possible, else in quotes. ASCII only, and cut to 60 characters."""
    text = key if _BARE.fullmatch(key) else json.dumps(key)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def _values(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _located(str(error), text) from error
    except RecursionError as error:
        raise TomlError(1, "is nested too deeply") from error
    except ValueError as error:  # Python converts no longer numbers
        found = _LONG_NUMBER.search(text)
        raise TomlError(_line_at(text, found.start() if found else 0), "a number is too long") from error


def _located(message: str, text: str) -> TomlError:
    """Turn tomllib's message, which ends with the place, into an error with a line."""
    at = _AT.search(message)
    if at is None or at[1] is None:
        return TomlError(_line_at(text, len(text.rstrip())), _AT.sub("", message) + ", at the end of the file")
    return TomlError(int(at[1]), f"{message[: at.start()]}, at column {at[2]}")


def _line_at(text: str, index: int) -> int:
    return text.count("\n", 0, index) + 1


def _dotted_line(text: str) -> int | None:
    """The number of the first line with too many dots; None if there is none."""
    return next((n for n, line in enumerate(text.split("\n"), start=1) if line.count(".") > MOST_DOTS), None)


def _check_depth(tree: Tree) -> None:
    """Raise TomlError if anything is nested too deeply. Walks without recursion."""
    cursor = tree.walk()
    depth = 0
    while True:
        if depth > DEEPEST and cursor.node is not None:
            raise TomlError(cursor.node.start_point[0] + 1, "is nested too deeply")
        if cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            depth -= 1


class _Places:
    """Walks a tree and notes the line of everything that has a path. `_check_depth` bounds the recursion."""

    def __init__(self, lines: dict[Path, int]) -> None:
        self._lines = lines
        self._tables: dict[Path, int] = {}  # of each list of tables, how many so far

    def document(self, root: Node) -> None:
        for node in root.named_children:
            if node.type == "pair":
                self._pair((), node)
            elif node.type in ("table", "table_array_element"):
                self._table(node)

    def _table(self, node: Node) -> None:
        path = self._header(node)
        for pair in _pairs(node):
            self._pair(path, pair)

    def _header(self, node: Node) -> Path:
        """Return the path that a table's header opens, and note its line."""
        line = node.start_point[0] + 1
        *outer, last = _parts(node.named_children[0])
        path: Path = ()
        for part in outer:
            path = self._innermost((*path, part), line)
        path = (*path, last)
        self._lines.setdefault(path, line)
        if node.type == "table":
            return path
        count = self._tables.get(path, 0)
        self._tables[path] = count + 1
        self._lines[*path, count] = line
        return (*path, count)

    def _innermost(self, path: Path, line: int) -> Path:
        """The path of a table on the way to another one; in a list of tables, that of the last one."""
        self._lines.setdefault(path, line)
        return (*path, self._tables[path] - 1) if path in self._tables else path

    def _pair(self, base: Path, node: Node) -> None:
        key, *values = [child for child in node.named_children if child.type != "comment"]
        path = base
        for part in _parts(key):
            path = (*path, part)
            self._lines.setdefault(path, node.start_point[0] + 1)
        if values:
            self._value(path, values[0])

    def _value(self, path: Path, node: Node) -> None:
        if node.type == "inline_table":
            for pair in _pairs(node):
                self._pair(path, pair)
        elif node.type == "array":
            items = [child for child in node.named_children if child.type != "comment"]
            for index, item in enumerate(items):
                self._lines[*path, index] = item.start_point[0] + 1
                self._value((*path, index), item)


def _pairs(node: Node) -> Iterator[Node]:
    return (child for child in node.named_children if child.type == "pair")


def _parts(key: Node) -> list[str]:
    """The parts of a bare, quoted or dotted key."""
    text = (key.text or b"").decode()
    if _BARE.fullmatch(text):
        return [text]
    parts = []
    table = tomllib.loads(f"{text} = 0")
    while isinstance(table, dict):
        (part, table) = next(iter(table.items()))
        parts.append(part)
    return parts
