# SPDX-License-Identifier: GPL-2.0-or-later
"""Tables as files: listed columns, and rows as CSV, JSON lines or Parquet, a piece at a time.

Memory does not grow with the number of rows. CSV (RFC 4180, UTF-8, lines end with CR LF): None is an empty field,
booleans are true and false. Text that a spreadsheet would take for a formula gets an apostrophe in front; the other
formats leave it unchanged.
"""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.elements import ColumnElement

ROWS_AT_ONCE = 1000
ROWS_IN_GROUP = 20_000  # of a Parquet file
FORMULA = ("=", "+", "-", "@", "\t", "\r")
Sql = ColumnElement[Any] | InstrumentedAttribute[Any]


class Kind(StrEnum):
    """A column's type. Times are integers: microseconds."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"


@dataclass(frozen=True)
class Column:
    """A column. In a table read directly from the database, its value is `sql`, or `of(sql)` where `of` is set.

    `blinded`: nobody sees the column until the study is unblinded.
    """

    name: str
    kind: Kind
    about: str
    unit: str = ""
    sql: Sql | None = None
    of: Callable[[Any], Any] | None = None
    blinded: bool = False


class Format(StrEnum):
    """A file format. The value is the extension of its files."""

    CSV = "csv"
    JSON_LINES = "jsonl"
    PARQUET = "parquet"

    @property
    def media_type(self) -> str:
        """The content type of answers."""
        return MEDIA_TYPES[self]


MEDIA_TYPES = {
    Format.CSV: "text/csv; charset=utf-8; header=present",
    Format.JSON_LINES: "application/jsonl",
    Format.PARQUET: "application/vnd.apache.parquet",
}


def encoded(form: Format, columns: Sequence[Column], rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    """A file of these rows, in pieces."""
    return _ENCODERS[form](columns, rows)


def _csv(columns: Sequence[Column], rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow([column.name for column in columns])
    cells = [_text_cell if column.kind is Kind.TEXT else _cell for column in columns]
    for batch in _batches(rows, ROWS_AT_ONCE):
        writer.writerows([cell(value) for cell, value in zip(cells, row, strict=True)] for row in batch)
        yield _taken(file)
    yield _taken(file)


def _cell(value: Any) -> Any:  # noqa: ANN401 - any cell
    return str(value).lower() if isinstance(value, bool) else value


def _text_cell(value: str | None) -> str | None:
    return f"'{value}" if value and value.startswith(FORMULA) else value


def _taken(file: io.StringIO) -> bytes:
    """The bytes since the last call."""
    content = file.getvalue().encode()
    file.seek(0)
    file.truncate()
    return content


def _json_lines(columns: Sequence[Column], rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    names = [column.name for column in columns]
    for batch in _batches(rows, ROWS_AT_ONCE):
        lines = (json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) for row in batch)
        yield "".join(f"{line}\n" for line in lines).encode()


def _parquet(columns: Sequence[Column], rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - half a second, which commands that read exports save
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415 - the same

    types = {Kind.TEXT: pa.string(), Kind.INTEGER: pa.int64(), Kind.NUMBER: pa.float64(), Kind.BOOLEAN: pa.bool_()}
    schema = pa.schema([pa.field(c.name, types[c.kind], metadata={"unit": c.unit, "about": c.about}) for c in columns])
    sink = _Sink()
    with ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in _batches(rows, ROWS_IN_GROUP):
            arrays = [
                pa.array(values, field.type) for values, field in zip(zip(*batch, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield sink.taken()
    yield sink.taken()


class _Sink(io.RawIOBase):
    """A writable file whose content can be taken while the writer goes on."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._told = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._told

    def write(self, content: Any) -> int:  # noqa: ANN401 - any buffer
        piece = bytes(content)
        self._pieces.append(piece)
        self._told += len(piece)
        return len(piece)

    def taken(self) -> bytes:
        content = b"".join(self._pieces)
        self._pieces.clear()
        return content


def _batches(rows: Iterable[tuple[Any, ...]], size: int) -> Iterator[list[tuple[Any, ...]]]:
    every = iter(rows)
    while batch := list(islice(every, size)):
        yield batch


_ENCODERS: dict[Format, Callable[[Sequence[Column], Iterable[tuple[Any, ...]]], Iterator[bytes]]] = {
    Format.CSV: _csv,
    Format.JSON_LINES: _json_lines,
    Format.PARQUET: _parquet,
}
