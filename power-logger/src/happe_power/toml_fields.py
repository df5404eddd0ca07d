# SPDX-License-Identifier: GPL-2.0-or-later
"""TOML read field by field: every mistake is collected with the line of its field and told at once. Pure."""

from __future__ import annotations

import datetime as dt
import math
import re
import tomllib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TABLE = re.compile(r"^\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_LINE = re.compile(r" \(at line (\d+), column \d+\)$")
FIRST_DATE, LAST_DATE = dt.date(2000, 1, 1), dt.date(2099, 12, 31)  # the header's schema
SOMETHING = 1.0  # goes on in the place of a number that can't be read


class TomlError(Exception):
    """A file that can't be used: each reason as `FILE:LINE: FIELD: WHY`, in the order of lines."""

    def __init__(self, file: str, mistakes: Sequence[tuple[int, str, str]]) -> None:
        """Say them, a line each."""
        super().__init__(
            "\n".join(f"{file}:{line}: {f'{path}: ' if path else ''}{why}" for line, path, why in sorted(mistakes))
        )
        self.mistakes = tuple(sorted(mistakes))


class Fields:
    """A table whose fields are taken one by one. What is wrong is kept; `finish` of the top table raises it."""

    def __init__(self, data: dict[str, Any], path: str, file: _File) -> None:
        """Begin with a table's values; `path` is its dotted name."""
        self._data = dict(data)
        self._path = path
        self._file = file

    @property
    def mistakes(self) -> list[tuple[int, str, str]]:
        """What is wrong with the file so far: line, field, why."""
        return self._file.mistakes

    def mistake(self, name: str, why: str) -> None:
        """Keep what is wrong with a field."""
        path = ".".join(filter(None, (self._path, name)))
        self._file.mistakes.append((self._file.line(path), path, why))

    def text(self, name: str, most: int) -> str:
        """A text of one to `most` characters."""
        value = self._data.pop(name, None)
        if isinstance(value, str) and 1 <= len(value) <= most:
            return value
        self.mistake(name, "is missing" if value is None else f"must be a text of 1 to {most} characters")
        return ""

    def number(self, name: str, least: float = -1e12) -> float:
        """A finite number from `least` to 1e12."""
        value = self._data.pop(name, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            if math.isfinite(value) and least <= value <= 1e12:  # noqa: PLR2004 - the header's schema
                return float(value)
            self.mistake(name, f"must be from {least:g} to 1e12")
        else:
            self.mistake(name, "is missing" if value is None else "must be a number")
        return SOMETHING

    def date(self, name: str) -> dt.date:
        """A date of this century, with or without quotes."""
        value = self._data.pop(name, None)
        try:
            made = dt.date.fromisoformat(value) if isinstance(value, str) else value
        except ValueError:
            made = None
        if type(made) is not dt.date:
            self.mistake(name, "is missing" if value is None else "must be a date like 2026-11-21")
            return FIRST_DATE
        if not FIRST_DATE <= made <= LAST_DATE:
            self.mistake(name, f"must be from {FIRST_DATE} to {LAST_DATE}")
        return made

    def choice(self, name: str, options: Sequence[str]) -> str:
        """One of `options`."""
        value = self._data.pop(name, None)
        if value in options:
            return str(value)
        said = "is missing" if value is None else "is not known"
        self.mistake(name, f"{said}; must be " + " or ".join(f'"{option}"' for option in options))
        return options[0]

    def table(self, name: str) -> Fields | None:
        """A table; None if there is none."""
        value = self._data.pop(name, None)
        if value is None:
            return None
        if not isinstance(value, dict):
            self.mistake(name, "must be a table")
            return None
        return Fields(value, ".".join(filter(None, (self._path, name))), self._file)

    def tables(self) -> Iterator[tuple[str, Fields]]:
        """Every field, which must be a table, with its name."""
        for name in list(self._data):
            if (table := self.table(name)) is not None:
                yield name, table

    def no_more(self) -> None:
        """What has not been taken is not known."""
        for name in self._data:
            self.mistake(name, "is not known")

    def finish(self) -> None:
        """Raise TomlError if anything is wrong with the file."""
        self.no_more()
        if self.mistakes:
            raise TomlError(self._file.name, self.mistakes)


class _File:
    """A file's name, the lines of its fields, and what is wrong with it."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.mistakes: list[tuple[int, str, str]] = []
        self._lines = lines_of(text)

    def line(self, path: str) -> int:
        """The line of a field, or of the nearest table around it; 1 for the file."""
        while path and path not in self._lines:
            path = path.rpartition(".")[0]
        return self._lines.get(path, 1)


def lines_of(text: str) -> dict[str, int]:
    """The line, from 1, of each table and key of a TOML text by its dotted name. Not of what is inside of braces."""
    lines: dict[str, int] = {}
    inside = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if table := _TABLE.match(line):
            inside = _plain(table[1])
            lines.setdefault(inside, number)
        elif key := _KEY.match(line):
            lines.setdefault(".".join(filter(None, (inside, _plain(key[1])))), number)
    return lines


def read(content: bytes, file: str) -> Fields:
    """The file's top table. Raises TomlError if it is not TOML."""
    try:
        text = content.decode("utf-8-sig")
        return Fields(tomllib.loads(text), "", _File(file, text))
    except UnicodeDecodeError as error:
        raise TomlError(file, [(content.count(b"\n", 0, error.start) + 1, "", "is not UTF-8")]) from None
    except tomllib.TOMLDecodeError as error:
        at = _LINE.search(str(error))
        line = int(at[1]) if at else content.count(b"\n") + 1
        raise TomlError(file, [(line, "", _LINE.sub("", str(error)))]) from None


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
