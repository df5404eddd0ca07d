# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads TOML files that a schema checks, and names the line of each mistake; writes simple tables. Pure."""

import datetime as dt
import difflib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from happe_contract import toml_lines
from happe_contract.faults import Fault

MOST_BYTES = 256 * 1024  # the time to read more grows to minutes, as for a recording named by mistake
TEXT = {"type": "string", "minLength": 1}  # the schema of a text


class TomlFileError(Exception):
    """A file can't be used. The message has each reason as `FILE:LINE: FIELD: WHY`."""


class TomlFile:
    """A file's content. `data` has it as JSON can hold it."""

    def __init__(self, content: bytes, name: str) -> None:
        """Read a file's bytes. Raises TomlFileError if they are not TOML."""
        self._name = name
        if len(content) > MOST_BYTES:
            raise TomlFileError(f"{name}: has {len(content)} bytes, at most {MOST_BYTES} are read; is it TOML?")
        try:
            self._document = toml_lines.read(content)
        except toml_lines.TomlError as error:
            raise TomlFileError(f"{name}:{error.line}: {error.message}") from None
        self.data: dict[str, Any] = plain(self._document.data)

    def said(self, field: str, why: str) -> str:
        """A message about a field, whose name has dots between tables; "" for the whole file."""
        line = self._document.line(tuple(field.split(".")))
        return f"{self._name}:{line}: {field}: {why}" if field else f"{self._name}:{line}: {why}"

    def refuse_if_any(self, faults: Iterable[Fault]) -> None:
        """Raise TomlFileError if there is a fault."""
        found = [self.said(fault.pointer.removeprefix("/").replace("/", "."), fault.detail) for fault in faults]
        if found:
            raise TomlFileError("\n".join(found))


def plain(value: Any) -> Any:  # noqa: ANN401 - as in TOML
    """Return a value that JSON can hold. A time, an infinite number or NaN becomes a text."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def meant(word: str, known: Iterable[str]) -> str:
    """The known word nearest to an unknown one, as the end of a message; empty if none is near."""
    close = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def written(table: Mapping[str, Any]) -> str:
    """A table as TOML. JSON's texts, numbers, lists and booleans are TOML's."""
    return "\n".join(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in table.items())
