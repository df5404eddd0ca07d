# SPDX-License-Identifier: GPL-2.0-or-later
"""Encodes summaries as Arrow IPC files, in a sixth of the time that Parquet takes. Bytes in, bytes out."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

KEY = b"happe"


class BadFileError(Exception):
    """A file does not contain the expected table. The message gives the reason, without the file's name."""


def encode(columns: Mapping[str, NDArray[Any]], said: Mapping[str, Any]) -> memoryview:
    """A file of columns of one length, and `said` as JSON in its metadata."""
    metadata = {KEY: json.dumps(said, separators=(",", ":"))}
    arrays = {name: as_array(column) for name, column in columns.items()}
    table = pa.RecordBatch.from_pydict(arrays, metadata=metadata)
    stream = pa.BufferOutputStream()
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_batch(table)
    return memoryview(stream.getvalue()).cast("B")


def read_said(path: Path) -> dict[str, Any]:
    """The JSON in a file's metadata; its columns are not looked at. Raises BadFileError, OSError."""
    with _opened(path) as reader:
        return _said(reader.schema)


def read_columns(path: Path) -> dict[str, NDArray[Any]]:
    """A file's columns by name, in order. Raises BadFileError, OSError."""
    with _opened(path) as reader:
        table = reader.read_all()
        table.validate(full=True)
        _said(table.schema)
        return {name: table.column(name).to_numpy() for name in table.column_names}


def as_array(column: NDArray[Any]) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return a column as an Arrow array, without a copy. pa.array would load pandas, if installed: 60 MB."""
    contiguous = np.ascontiguousarray(column)
    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [None, pa.py_buffer(contiguous)])


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    content = path.read_bytes()
    try:
        with pa.ipc.open_file(pa.BufferReader(content)) as reader:
            yield reader
    except (pa.ArrowException, OSError, ValueError) as error:  # IPC raises OSError for a damaged footer
        raise BadFileError(f"it can't be read: {(str(error).splitlines() or [type(error).__name__])[0]}") from None
    except KeyError:
        raise BadFileError(f"its metadata lacks the key {KEY.decode()}") from None


def _said(schema: Any) -> dict[str, Any]:  # noqa: ANN401 - pyarrow has no types
    said = json.loads((schema.metadata or {})[KEY])
    if not isinstance(said, dict):
        raise BadFileError(f"its {KEY.decode()} metadata is no JSON object")
    return said
