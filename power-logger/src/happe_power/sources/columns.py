# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the rows of a text file in columns, as a source's table describes it."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from happe_contract.strict_json import Json
from happe_power.sources.guess import EPOCHS, TIME_SCALES
from happe_power.sources.instants import InstantError, Local
from happe_power.sources.source import FinalError
from happe_power.sources.text import Bad, Shape, Table, tables

ROWS = 1 << 15  # that are read at once, if they have no more bytes than these
CHUNK = 1 << 21
LONGEST_LINE = 64 * 1024  # bytes; 16 channels need 400

Places = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Consecutive good rows of a file. `line` is the line number of the first.

    `places` are their times in seconds, since 1970 if the file has dates, or their indices; None without either.
    """

    places: Places | None
    values: Table
    line: int = 0


class Csv:
    """A file's columns. `table` has every option; `timed`: places are seconds, or indices; None: there are none.

    `dated`: seconds since 1970. `zoneless`: times of a day without a zone, which count as UTC.
    """

    def __init__(self, path: Path, table: Json) -> None:
        """Take the columns that `table` names."""
        self.name = path.name
        self.timed = True if "time" in table else False if "index" in table else None
        self.header = max(table["header"], 1)
        self._path, self._table = path, table
        names = table["names"]
        texts = [names.index(table[each]) for each in ("date", "time") if "dates" in table and each in table]
        self.dated = bool(texts) or table.get("epoch", "none") != "none"
        self.zoneless = bool(texts) and "zone" not in table
        taken = [names.index(name) for name in table["channels"]]
        place = table.get("time", table.get("index"))
        self._numbered = bool(place) and not texts
        columns = [*taken, *([names.index(place)] if self._numbered else [])]
        unique = tuple(dict.fromkeys(columns))
        form = {each: table[each] for each in ("delimiter", "decimal", "quote")}
        self._shape = Shape(len(names), unique, tuple(texts), table.get("dates", "ymd"), **form)
        self._wanted = [unique.index(each) for each in taken]
        self._place = unique.index(columns[-1]) if self._numbered else len(unique)

    def read(self) -> Iterator[Rows | Bad]:
        """Yield the whole file in order, in chunks. A bad row's place is its line. Raises FinalError."""
        line = self._table["first"]
        local = Local(ZoneInfo(self._table["zone"])) if "zone" in self._table and not self._numbered else None
        with opened(self._path, self._table["encoding"]) as file:
            for _ in range(line - 1):
                file.readline(LONGEST_LINE)
            while lines := self._lines(file):
                yield from self._rows(
                    "".join(lines).encode() if isinstance(lines[0], str) else b"".join(lines), line, local
                )
                line += len(lines)

    def _lines(self, file: IO[Any]) -> list[Any]:
        """The next lines, as many as the memory may hold at once; none at the end."""
        lines: list[Any] = []
        size = 0
        while len(lines) < ROWS and size < CHUNK and (line := file.readline(LONGEST_LINE)):
            if len(line) == LONGEST_LINE:
                raise FinalError(f"{self._path}: a line is longer than {LONGEST_LINE} bytes; is it a CSV file?")
            lines.append(line)
            size += len(line)
        return lines

    def _rows(self, text: bytes, line: int, local: Local | None) -> Iterator[Rows | Bad]:
        try:
            for found in tables(text, self._shape):
                if not isinstance(found, Bad):
                    yield Rows(self._places(found, local), tuple(found[column] for column in self._wanted), line)
                    line += len(found[0])
                    continue
                if found.said.strip():
                    yield Bad(line, f"cannot be read as a row of {self._shape.columns} columns: {found.said!r}")
                line += 1
        except InstantError as error:
            raise FinalError(f"{self.name}:{line + error.row}: {error}") from None

    def _places(self, found: Table, local: Local | None) -> Places | None:
        if self.timed is None:
            return None
        places = found[self._place]
        if self._numbered:
            scale = TIME_SCALES[self._table["time_unit"]] if self.timed else 1.0
            return places * scale + (EPOCHS[self._table["epoch"]] if self.timed else 0.0)
        aware = found[self._place + 1] > 0
        if aware.all():
            self.zoneless = False
            return places
        if aware.any():
            raise InstantError(int(np.argmin(aware)), "this time has no zone, and others have one")
        return local.utc(places) if local else places


def opened(path: Path, encoding: str) -> IO[Any]:
    """Open a text as lines of UTF-8, or of text if it is in another encoding. Raises FinalError."""
    try:
        file = path.open("rb")
        if encoding == "utf-8-sig":
            file.seek(3)
        return file if encoding.startswith("utf-8") else io.TextIOWrapper(file, encoding, "replace", newline="\n")
    except OSError as error:
        raise FinalError(f"{path}: {error.strerror}") from None
