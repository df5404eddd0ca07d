# SPDX-License-Identifier: GPL-2.0-or-later
"""What is in a part of a power trace: docs/uploads.md, A part. A meter wrote it: nothing of it is believed unseen."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

KEY = b"happe"
ROWS_AT_ONCE = 1 << 18
LATEST = 2**53
TYPES = {"int16": "int16", "int32": "int32", "int64": "int64", "float32": "float", "float64": "double"}


class BadPartError(Exception):
    """A file is not the part that it should be; the message says what is wrong with it."""


@dataclass(frozen=True)
class Head:
    """What a part says of itself: runs without a gap (first index, rows), and pairs of index and monotonic_us."""

    runs: tuple[tuple[int, int], ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def first_index(self) -> int:
        """The index of the first row."""
        return self.runs[0][0]

    @property
    def end_index(self) -> int:
        """One past the index of the last row."""
        return sum(self.runs[-1])

    @property
    def rows(self) -> int:
        """How many samples there are."""
        return sum(rows for _first, rows in self.runs)


def head(path: Path, trace: str, number: int) -> Head:
    """The head of a part's file. Raises BadPartError."""
    try:
        metadata = pq.read_metadata(path)
        said = json.loads((metadata.metadata or {})[KEY])
        found = head_of(said)
        named = said["trace"], said["number"]
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadPartError(f"part {number} can't be read: {type(error).__name__}") from error
    if named != (trace, number):
        raise BadPartError(f"part {number} says that it is part {named[1]!r} of trace {named[0]!r}"[:200])
    if metadata.num_rows != found.rows:
        raise BadPartError(f"part {number} has {metadata.num_rows} rows where its runs have {found.rows}")
    return found


def head_of(said: dict[str, Any]) -> Head:
    """The head in a part's metadata. Raises ValueError, KeyError, TypeError."""
    runs = tuple((int(first), int(rows)) for first, rows in said["runs"])
    pairs = tuple((int(pair[0]), int(pair[1])) for pair in said["time_base"])
    ascending = all(first + rows <= following for (first, rows), (following, _rows) in pairwise(runs))
    if not runs or not pairs or not ascending or any(rows < 1 for _first, rows in runs):
        raise ValueError("runs or time_base are empty or do not ascend")
    if runs[0][0] < 0 or sum(runs[-1]) > LATEST or not all(0 <= n < LATEST for pair in pairs for n in pair):
        raise ValueError("an index or a time is out of range")
    return Head(runs, pairs)


def samples(
    path: Path, number: int, columns: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, tuple[NDArray[np.generic], ...]]]:
    """Columns (name, dtype) of a part a piece at a time, each with its first row's number. Raises BadPartError."""
    try:
        with pq.ParquetFile(path) as file:
            _require_columns(file.schema_arrow, number, columns)
            row = 0
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=[name for name, _dtype in columns]):
                yield row, tuple(batch.column(name).to_numpy(zero_copy_only=False) for name, _dtype in columns)
                row += batch.num_rows
    except (OSError, pa.ArrowException, ValueError) as error:
        raise BadPartError(f"part {number} can't be read: {type(error).__name__}") from error


def _require_columns(schema: pa.Schema, number: int, columns: Sequence[tuple[str, str]]) -> None:
    for name, dtype in columns:
        at = schema.get_field_index(name)
        if at < 0 or str(schema.field(at).type) != TYPES[dtype]:
            raise BadPartError(f"part {number} has no column {name} of {dtype}")
