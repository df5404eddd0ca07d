# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses lines of numbers and instants from text files, however hostile their content is."""

import csv as lines_of
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from happe_power.sources.instants import seconds

Table = tuple["NDArray[np.float64]", ...]
OVERLOADS = ("ovld", "ovfl", "ovrflw", "ol", "o.l", "o.l.", "over", "overload", "overflow", "overrange", "n/a", "#n/a")
SHAPES = (str.lower, str.upper, str.title)
LOST = sorted({f"{sign}{shape(word)}" for word in OVERLOADS for sign in ("", "+", "-") for shape in SHAPES})
OVERLOAD = 9.8e37  # SCPI: 9.9E37 is infinity, 9.91E37 is not a number


@dataclass(frozen=True)
class Bad:
    """A line that is no row of numbers: its place in the text, from 0, and its beginning."""

    place: int
    said: str


@dataclass(frozen=True)
class Shape:
    """The form of a row: how many columns it has, and which are numbers to take.

    `texts` are the columns that together are an instant, with `order` as in `instants.DATES`.
    """

    columns: int
    taken: tuple[int, ...]
    texts: tuple[int, ...] = ()
    order: str = "ymd"
    delimiter: str = ","
    decimal: str = "."
    quote: str = '"'


def table(lines: bytes, shape: Shape) -> Table | None:
    """The taken columns, if all lines have this form; None if one has not.

    What an instrument writes in place of a value (NaN, an overload) is NaN.
    With `texts` two more columns follow: the instants in seconds, and 1 for those that name a zone, else 0.
    Raises InstantError.
    """
    names = [f"c{column}" for column in range(shape.columns)]
    types = {names[column]: pa.string() for column in shape.texts}
    types |= {names[column]: pa.float64() for column in shape.taken}
    try:
        read = csv.read_csv(
            pa.BufferReader(lines),
            csv.ReadOptions(use_threads=False, column_names=names),
            csv.ParseOptions(
                delimiter=shape.delimiter, quote_char=shape.quote, ignore_empty_lines=False, newlines_in_values=False
            ),
            csv.ConvertOptions(
                column_types=types,
                null_values=LOST,
                include_columns=list(types),
                decimal_point=shape.decimal,
                quoted_strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        return None
    found = tuple(_sound(read[names[column]].to_numpy()) for column in shape.taken)
    if not shape.texts:
        return found
    texts = [read[names[column]].combine_chunks() for column in shape.texts]
    whole = _instants(pa.compute.binary_join_element_wise(*texts, " "), shape)
    return None if np.isnan(whole[0]).any() else (*found, *whole)


def _sound(values: NDArray[np.float64]) -> NDArray[np.float64]:
    over = np.abs(values) >= OVERLOAD
    return np.where(over & np.isfinite(values), np.nan, values) if over.any() else values


def _instants(texts: pa.Array, shape: Shape) -> Table:
    when, aware = seconds(texts, shape.order)
    return when, aware.astype(np.float64)


def tables(lines: bytes, shape: Shape) -> list[Table | Bad]:
    """Parse lines into tables of consecutive good rows, and the bad lines between them, in order.

    Raises InstantError.
    """
    if not lines:
        return []
    whole = table(lines, shape)
    if whole is not None:
        return [whole]
    found: list[Table | Bad] = []
    good: list[list[float]] = []
    split = lines.split(b"\n")[: -1 if lines.endswith(b"\n") else None]
    for place, (line, row) in enumerate(zip(split, _rows(split, shape), strict=True)):
        if row:
            good.append(row)
            continue
        _close(found, good)
        found.append(Bad(place, line[:40].rstrip(b"\r").decode(errors="replace")))
    _close(found, good)
    return found


def _close(found: list[Table | Bad], good: list[list[float]]) -> None:
    if good:
        found.append(tuple(map(_sound, np.array(good, dtype=np.float64).T.copy())))
        good.clear()


def _rows(lines: list[bytes], shape: Shape) -> list[list[float] | None]:
    """The numbers of each line; None for a line that has not this form."""
    split = [cells(line.decode(errors="replace"), shape.delimiter, shape.quote) for line in lines]
    rows = [_numbers(words, shape) for words in split]
    if not shape.texts:
        return rows
    texts = [
        " ".join(words[column] for column in shape.texts) if row is not None else ""
        for words, row in zip(split, rows, strict=True)
    ]
    when, aware = _instants(pa.array(texts, pa.string()), shape)
    return [
        None if row is None or np.isnan(at) else [*row, float(at), float(zone)]
        for row, at, zone in zip(rows, when, aware, strict=True)
    ]


def cells(line: str, delimiter: str, quote: str) -> list[str]:
    """The cells of a line without their blanks; one cell if the line can't be split."""
    try:
        return [cell.strip() for cell in next(lines_of.reader([line], delimiter=delimiter, quotechar=quote), [])]
    except lines_of.Error:
        return [line]


def _numbers(words: list[str], shape: Shape) -> list[float] | None:
    if len(words) != shape.columns:
        return None
    try:
        return [number(words[column], shape.decimal) for column in shape.taken]
    except ValueError:
        return None


def number(word: str, decimal: str) -> float:
    """Read a number as Python does, but without its underscores. Raises ValueError."""
    if word in LOST:
        return float("nan")
    if "_" in word or (decimal == "," and "." in word):
        raise ValueError(word)
    return float(word.replace(",", ".") if decimal == "," else word)
