# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines of numbers, as sigrok-cli writes them and CSV files hold them, whoever wrote them and whatever is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST_LINE = 64 * 1024  # 16 channels need 400 bytes
Table = tuple["NDArray[np.float64]", ...]


class LongLineError(ValueError):
    """A line goes on for more than 64 KiB: that is no table of numbers."""


class Lines:
    """Cuts a stream of bytes into whole lines, and holds no more than the longest line."""

    def __init__(self) -> None:
        """Nothing has come."""
        self._rest = b""

    def take(self, data: bytes) -> bytes:
        """All lines that are complete now, each with its end. LongLineError."""
        head, mark, tail = data.rpartition(b"\n")
        if not mark:
            self._rest += data
        else:
            head, self._rest = self._rest + head + mark, tail
        if len(self._rest) > LONGEST_LINE:
            raise LongLineError(f"a line goes on for more than {LONGEST_LINE} bytes")
        return head

    def last(self) -> bytes:
        """What came after the last whole line."""
        rest, self._rest = self._rest, b""
        return rest


@dataclass(frozen=True)
class Bad:
    """A line that is no row of numbers: its place in the text, from 0, and its beginning."""

    place: int
    said: str


def table(lines: bytes, columns: int) -> Table | None:
    """The columns of lines that all have so many numbers (NaN and inf are numbers); None if one has not."""
    names = [f"c{column}" for column in range(columns)]
    try:
        read = csv.read_csv(
            pa.BufferReader(lines),
            csv.ReadOptions(use_threads=False, column_names=names),
            csv.ParseOptions(ignore_empty_lines=False, quote_char=False, newlines_in_values=False),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()), null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    return tuple(column.to_numpy() for column in read.columns)


def tables(lines: bytes, columns: int) -> list[Table | Bad]:
    """Rows in order, as tables without a bad line between them, and the bad lines."""
    whole = table(lines, columns) if lines else None
    if whole is not None:
        return [whole]
    found: list[Table | Bad] = []
    good: list[list[float]] = []
    for place, line in enumerate(lines.splitlines()):
        row = _row(line, columns)
        if row:
            good.append(row)
            continue
        _close(found, good)
        found.append(Bad(place, line[:40].decode(errors="replace")))
    _close(found, good)
    return found


def _close(found: list[Table | Bad], good: list[list[float]]) -> None:
    if good:
        found.append(tuple(np.array(good, dtype=np.float64).T.copy()))
        good.clear()


def _row(line: bytes, columns: int) -> list[float] | None:
    """The numbers of a line, as Python reads numbers, but without its underscores."""
    words = line.split(b",")
    if len(words) != columns or b"_" in line:
        return None
    try:
        return [float(word) for word in words]
    except ValueError:
        return None
