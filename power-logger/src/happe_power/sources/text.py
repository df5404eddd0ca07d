# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses lines of numbers from CSV files, however hostile their content is."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute as pc
from pyarrow import csv

Table = tuple["NDArray[np.float64]", ...]


@dataclass(frozen=True)
class Bad:
    """A line that is no row of numbers: its place in the text, from 0, and its beginning."""

    place: int
    said: str


@dataclass(frozen=True)
class Shape:
    """The form of a row: how many columns it has, which are taken, and which of these may be ISO 8601."""

    columns: int
    taken: tuple[int, ...]
    instant: int | None = None


def table(lines: bytes, shape: Shape) -> Table | None:
    """The taken columns, if all lines have this form (NaN and inf are numbers); None if one line has not.

    Instants become seconds since 1970. An instant without a zone counts as UTC.
    """
    names = [f"c{column}" for column in range(shape.columns)]
    taken = [names[column] for column in shape.taken]
    for kind in (pa.float64(),) if shape.instant is None else KINDS:
        types = dict.fromkeys(taken, pa.float64()) | ({} if shape.instant is None else {names[shape.instant]: kind})
        try:
            read = csv.read_csv(
                pa.BufferReader(lines),
                csv.ReadOptions(use_threads=False, column_names=names),
                csv.ParseOptions(ignore_empty_lines=False, quote_char=False, newlines_in_values=False),
                csv.ConvertOptions(column_types=types, null_values=[], include_columns=taken),
            )
        except pa.ArrowInvalid:
            continue
        return tuple(_numbers(column) for column in read.columns)
    return None


KINDS = (pa.float64(), pa.timestamp("ns"), pa.timestamp("ns", "UTC"))  # of a column that may be ISO 8601


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    if pa.types.is_timestamp(column.type):
        column = pc.divide(column.cast(pa.int64()).cast(pa.float64(), safe=False), 1e9)
    numbers: NDArray[np.float64] = column.to_numpy()
    return numbers


def tables(lines: bytes, shape: Shape) -> list[Table | Bad]:
    """Parse lines into tables of consecutive good rows, and the bad lines between them, in order."""
    whole = table(lines, shape) if lines else None
    if whole is not None:
        return [whole]
    found: list[Table | Bad] = []
    good: list[list[float]] = []
    for place, line in enumerate(lines.splitlines()):
        row = _row(line, shape)
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


def _row(line: bytes, shape: Shape) -> list[float] | None:
    """The numbers of a line; None if the line has not this form."""
    words = line.split(b",")
    if len(words) != shape.columns:
        return None
    try:
        return [
            _instant(words[column]) if column == shape.instant else _number(words[column]) for column in shape.taken
        ]
    except ValueError:
        return None


def _number(word: bytes) -> float:
    """Read a number as Python does, but without its underscores. Raises ValueError."""
    if b"_" in word:
        raise ValueError(word)
    return float(word)


def _instant(word: bytes) -> float:
    """Read a number, or ISO 8601 as seconds since 1970. Raises ValueError."""
    try:
        return _number(word)
    except ValueError:
        instant = datetime.fromisoformat(word.decode().strip(' "'))
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
