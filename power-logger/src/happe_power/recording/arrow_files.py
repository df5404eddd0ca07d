# SPDX-License-Identifier: GPL-2.0-or-later
"""Small tables as Arrow IPC files, which take a sixth of Parquet's time to make: summaries. Bytes in, bytes out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

KEY = b"happe"


class BadFileError(Exception):
    """A file is not the table that it should be; the message says what is wrong, without the file's name."""


def encode(columns: Mapping[str, NDArray[Any]], said: Mapping[str, Any]) -> memoryview:
    """A file of columns of one length, and `said` as JSON in its metadata."""
    metadata = {KEY: json.dumps(said, separators=(",", ":"))}
    arrays = {name: pa.array(column) for name, column in columns.items()}
    table = pa.RecordBatch.from_pydict(arrays, metadata=metadata)
    stream = pa.BufferOutputStream()
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_batch(table)
    return memoryview(stream.getvalue()).cast("B")


def read_said(path: Path) -> dict[str, Any]:
    """The JSON in a file's metadata. Raises BadFileError, OSError."""
    return _read(path)[1]


def read_columns(path: Path) -> dict[str, NDArray[Any]]:
    """A file's columns by name, in order. Raises BadFileError, OSError."""
    return _read(path)[0]


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    content = path.read_bytes()
    try:
        with pa.ipc.open_file(pa.BufferReader(content)) as reader:
            table = reader.read_all()
            table.validate(full=True)
            said = json.loads((table.schema.metadata or {})[KEY])
    except (pa.ArrowException, OSError, ValueError) as error:  # OSError: what IPC says of a damaged footer
        raise BadFileError(f"it can't be read: {(str(error).splitlines() or [type(error).__name__])[0]}") from None
    except KeyError:
        raise BadFileError(f"its metadata lacks the key {KEY.decode()}") from None
    if not isinstance(said, dict):
        raise BadFileError(f"its {KEY.decode()} metadata is no JSON object")
    return {name: table.column(name).to_numpy() for name in table.column_names}, said
