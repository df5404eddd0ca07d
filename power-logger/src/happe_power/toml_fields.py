# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads TOML field by field, and reports all mistakes at once, each with the line of its field. Pure."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from happe_contract import toml_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from happe_contract.toml_lines import Document, Path

FIRST_DATE, LAST_DATE = dt.date(2000, 1, 1), dt.date(2099, 12, 31)  # the header's schema
SOMETHING = 1.0  # stands in for an unreadable number


class TomlFileError(Exception):
    """A file can't be used. The message has each reason as `FILE:LINE: FIELD: WHY`, in the order of lines."""

    def __init__(self, file: str, mistakes: Sequence[tuple[int, str, str]]) -> None:
        """Take the mistakes as line, field and reason."""
        super().__init__(
            "\n".join(f"{file}:{line}: {f'{path}: ' if path else ''}{why}" for line, path, why in sorted(mistakes))
        )
        self.mistakes = tuple(sorted(mistakes))


class Fields:
    """A table. Callers take its fields one by one. It collects mistakes; `finish` of the top table raises them."""

    def __init__(self, data: dict[str, Any], path: Path, file: _File) -> None:
        """Begin with a table's values; `path` is the table's place in the file."""
        self._data = dict(data)
        self._path = path
        self._file = file

    @property
    def mistakes(self) -> list[tuple[int, str, str]]:
        """The mistakes in the file so far: line, field, reason."""
        return self._file.mistakes

    def has(self, name: str) -> bool:
        """Whether a field exists and was not taken yet."""
        return name in self._data

    def mistake(self, name: str, why: str) -> None:
        """Note a mistake in a field."""
        path = (*self._path, name) if name else self._path
        self._file.mistakes.append((self._file.document.line(path), ".".join(map(str, path)), why))

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
        return Fields(value, (*self._path, name), self._file)

    def tables(self) -> Iterator[tuple[str, Fields]]:
        """Every field, which must be a table, with its name."""
        for name in list(self._data):
            if (table := self.table(name)) is not None:
                yield name, table

    def no_more(self) -> None:
        """Report each field that was not taken as unknown."""
        for name in self._data:
            self.mistake(name, "is not known")

    def finish(self) -> None:
        """Raise TomlFileError if anything is wrong with the file."""
        self.no_more()
        if self.mistakes:
            raise TomlFileError(self._file.name, self.mistakes)


@dataclass(frozen=True)
class _File:
    """A file's name, its content, and the mistakes in it."""

    name: str
    document: Document
    mistakes: list[tuple[int, str, str]] = field(default_factory=list)


def read(content: bytes, file: str) -> Fields:
    """The file's top table. Raises TomlFileError if it is not TOML."""
    try:
        document = toml_lines.read(content)
    except toml_lines.TomlError as error:
        raise TomlFileError(file, [(error.line, "", error.message)]) from None
    return Fields(document.data, (), _File(file, document))
