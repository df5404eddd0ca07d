# SPDX-License-Identifier: GPL-2.0-or-later
"""A part of a trace as a Parquet file: docs/uploads.md, A part. Bytes in, bytes out; files.py writes them."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from happe_contract.parts import KEY, BadPartError, Footer, first_line
from happe_contract.traces import Channel

Run = tuple[int, int]  # first index, rows

COMPRESSION_LEVEL = 3
TAIL_BYTES, MAGIC_BYTES = 8, 4  # a Parquet file ends with its footer's length and PAR1
MOST_BYTES = 256 * 1024 * 1024  # of a part's file, docs/uploads.md


def encode(
    channels: Sequence[Channel], columns: Sequence[NDArray[Any]], footer: Footer, room: int = 1
) -> bytes | memoryview:
    """The file of a part: `columns` has an array for each channel, all of `footer.rows` values.

    Its size is a multiple of `room`, so that it does not reveal how well the samples compress.
    """
    named = {channel.name: column for channel, column in zip(channels, columns, strict=True)}
    return _padded(_encode(named, footer.to_json()), room)


def _padded(file: memoryview, room: int) -> bytes | memoryview:
    """Insert zeros before the footer of a Parquet file, which refers to nothing behind its last column."""
    lacking = -len(file) % room
    if not lacking:
        return file
    footer = int.from_bytes(file[-TAIL_BYTES:-MAGIC_BYTES], "little") + TAIL_BYTES
    return b"".join((file[:-footer], _zeros(room)[:lacking], file[-footer:]))


@lru_cache(maxsize=1)
def _zeros(size: int) -> memoryview:
    """A number of zero bytes, shared by all parts of a recording."""
    return memoryview(bytes(size))


def _encode(columns: Mapping[str, NDArray[Any]], said: Mapping[str, Any]) -> memoryview:
    """A Parquet file of required columns, and `said` as JSON in its key-value metadata."""
    schema = pa.schema(
        [pa.field(name, pa.from_numpy_dtype(each.dtype), nullable=False) for name, each in columns.items()]
    )
    table = pa.Table.from_arrays([as_array(each) for each in columns.values()], schema=schema)
    stream = pa.BufferOutputStream()  # needs no GIL, unlike a file object of Python
    with pq.ParquetWriter(
        stream,
        schema,
        compression="zstd",
        compression_level=COMPRESSION_LEVEL,
        use_dictionary=False,
        column_encoding={name: _encoding(each) for name, each in columns.items()},
        write_statistics=False,
        store_schema=False,
    ) as writer:
        writer.write_table(table, row_group_size=max(1, table.num_rows))
        writer.add_key_value_metadata({KEY: json.dumps(said, separators=(",", ":"))})
    return memoryview(stream.getvalue()).cast("B")


def as_array(column: NDArray[Any]) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return a column as an Arrow array, without a copy. pa.array would load pandas, if installed: 60 MB."""
    contiguous = np.ascontiguousarray(column)
    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [None, pa.py_buffer(contiguous)])


def read_columns(path: Path) -> dict[str, NDArray[Any]]:
    """A file's columns by name, in order. Raises BadPartError, OSError."""
    try:
        with path.open("rb") as file:
            table = pq.ParquetFile(file).read(use_threads=False)
    except (pa.ArrowException, ValueError) as error:
        raise BadPartError(f"it can't be read: {first_line(error)}") from None
    if any(column.null_count for column in table.columns):
        raise BadPartError("it has nulls")
    return {name: table.column(name).to_numpy() for name in table.column_names}


def checked_columns(path: Path, channels: Sequence[Channel], footer: Footer) -> tuple[NDArray[Any], ...]:
    """Read a part's columns, and check their names, types and length. Raises BadPartError, OSError."""
    columns = read_columns(path)
    wanted = [(channel.name, channel.dtype) for channel in channels]
    found = [(name, column.dtype) for name, column in columns.items()]
    if found != wanted:
        raise BadPartError(f"it has the columns {_listed(found)}; the header says {_listed(wanted)}")
    lengths = {len(column) for column in columns.values()}
    if lengths != {footer.rows}:
        raise BadPartError(f"it has {min(lengths)} rows; its runs say {footer.rows}")
    return tuple(columns.values())


def _encoding(column: NDArray[Any]) -> str:
    return "DELTA_BINARY_PACKED" if column.dtype.kind == "i" else "BYTE_STREAM_SPLIT"


def _listed(columns: Sequence[tuple[str, Any]]) -> str:
    return ", ".join(f"{name} ({dtype})" for name, dtype in columns)
