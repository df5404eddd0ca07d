# SPDX-License-Identifier: GPL-2.0-or-later
"""Input that is looked at before it is believed: every complaint names the file and the field."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

LONGEST_NAME = 255  # bytes of UTF-8, as docs/traces.md has it
LONGEST_EXCERPT = 60
# XML may not hold them, or is better off without.
NOT_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class BadDataError(Exception):
    """A file holds what it may not."""


class NoInputError(Exception):
    """A file cannot be read."""


def excerpt(value: object) -> str:
    """Return a value for a message: quoted, ASCII only, not longer than a line bears."""
    text = ascii(value)
    return text if len(text) <= LONGEST_EXCERPT else text[: LONGEST_EXCERPT - 3] + "..."


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file."""
    try:
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        message = f"{path}: cannot read: {error.strerror or error}"
        raise NoInputError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path}: byte {error.start}: is not UTF-8"
        raise BadDataError(message) from error


def check_name(text: str, where: str, *, longest: int = LONGEST_NAME) -> str:
    """Return `text` if it is printable and 1 to `longest` bytes long. Markup may stay: the page escapes."""
    if not text or len(text.encode("utf-8", "surrogatepass")) > longest:
        message = f"{where}: is {excerpt(text)}, must be 1 to {longest} bytes long"
        raise BadDataError(message)
    if NOT_XML.search(text):
        message = f"{where}: is {excerpt(text)}, must hold no control characters"
        raise BadDataError(message)
    return text


def check_file_name(text: str, where: str) -> str:
    """Return `text` if it can be a part of a file's name."""
    if "/" in text:
        message = f"{where}: is {excerpt(text)}, must hold no slash, because traces are named after it"
        raise BadDataError(message)
    return check_name(text, where)


@dataclass(frozen=True)
class Field:
    """A JSON value that knows where it stands, e.g. `paper/study.json: cells[3].rating_sd`."""

    value: Any
    file: str
    path: str = ""

    def refuse(self, what: str) -> NoReturn:
        """Complain about this field."""
        message = f"{self.file}: {self.path}: {what}" if self.path else f"{self.file}: {what}"
        raise BadDataError(message)

    @property
    def where(self) -> str:
        """The file and the field."""
        return f"{self.file}: {self.path}"

    def at(self, name: str) -> Field:
        """Return an object's member."""
        inner = f"{self.path}.{name}" if self.path else name
        if not isinstance(self.value, dict):
            self.refuse("must be an object")
        if name not in self.value:
            Field(None, self.file, inner).refuse("is missing")
        return Field(self.value[name], self.file, inner)

    def has(self, name: str) -> bool:
        """Whether this is an object with such a member that is not null."""
        return isinstance(self.value, dict) and self.value.get(name) is not None

    def only(self, names: Iterable[str]) -> None:
        """Refuse members that are not among `names`."""
        if not isinstance(self.value, dict):
            self.refuse("must be an object")
        unknown = sorted(set(self.value) - set(names))
        if unknown:
            self.refuse(f"holds the unknown field {excerpt(unknown[0])}")

    def items(self) -> list[Field]:
        """Return an array's members."""
        if not isinstance(self.value, list):
            self.refuse("must be an array")
        return [Field(value, self.file, f"{self.path}[{index}]") for index, value in enumerate(self.value)]

    def number(self, least: float, most: float) -> float:
        """Return a finite number in [least, most]."""
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not is_number or not least <= self.value <= most:
            self.refuse(f"is {excerpt(self.value)}, must be a number from {least:g} to {most:g}")
        return float(self.value)

    def optional(self, name: str, least: float, most: float) -> float | None:
        """Return a member that may be missing or null."""
        return self.at(name).number(least, most) if self.has(name) else None

    def integer(self, least: int, most: int) -> int:
        """Return a whole number in [least, most]."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not least <= self.value <= most:
            self.refuse(f"is {excerpt(self.value)}, must be a whole number from {least} to {most}")
        return self.value

    def name(self, *, longest: int = LONGEST_NAME) -> str:
        """Return a printable string."""
        if not isinstance(self.value, str):
            self.refuse(f"is {excerpt(self.value)}, must be a string")
        return check_name(self.value, self.where, longest=longest)

    def one_of(self, choices: Iterable[str]) -> str:
        """Return a string that is one of `choices`."""
        allowed = list(choices)
        if self.value not in allowed:
            self.refuse(f"is {excerpt(self.value)}, must be {' or '.join(map(repr, allowed))}")
        return str(self.value)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        message = f"the field {excerpt(next(name for name in names if names.count(name) > 1))} is given twice"
        raise ValueError(message)
    return members


def _no_constants(text: str) -> NoReturn:
    message = f"{text} is not a number of JSON"
    raise ValueError(message)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        message = f"{excerpt(text)} is too great"
        raise ValueError(message)
    return value


def parse_json(text: str, file: str) -> Field:
    """Return a JSON text; `file` (with a line, for JSON Lines) is what complaints begin with."""
    try:
        value = json.loads(text, object_pairs_hook=_no_duplicates, parse_constant=_no_constants, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        message = f"{file}: is not valid JSON: {error}"
        raise BadDataError(message) from error
    return Field(value, file)
