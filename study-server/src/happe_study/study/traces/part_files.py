# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading a part of a power trace: its footer and its columns (docs/uploads.md, A part).

The file is sealed, so the server opens the part in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from happe_contract.parts import BadPartError, footer_in
from happe_study.base.s3 import AwayError
from happe_study.study.sealing import SealError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from happe_contract.parts import Footer
    from happe_study.study.traces.sealed import Seal
    from happe_study.study.traces.storage import Part, Storage

ROWS_AT_ONCE = 1 << 18
TYPES = {"int16": "int16", "int32": "int32", "int64": "int64", "float32": "float", "float64": "double"}


def opened(storage: Storage, part: Part, seal: Seal) -> pa.Buffer:
    """Open a part from its sealed file. Raises BadPartError, AwayError."""
    try:
        return pa.py_buffer(seal.opened(storage.read(part)))
    except AwayError:
        raise
    except OSError as error:
        raise BadPartError(f"part {seal.number} can't be read: {error.strerror}") from error
    except SealError as error:
        raise BadPartError(f"part {seal.number} {error}") from error


def footer_of_part(part: pa.Buffer, trace: str, number: int) -> Footer:
    """Read the footer of a part. Raises BadPartError if it names another trace or number, or can't be read."""
    try:
        found = footer_in(pa.BufferReader(part))
    except OSError as error:
        raise BadPartError(f"part {number} can't be read: {type(error).__name__}") from error
    except BadPartError as error:
        raise BadPartError(f"part {number} can't be read: {error}"[:200]) from error
    if (found.trace, found.number) != (trace, number):
        raise BadPartError(f"part {number} claims to be part {found.number!r} of trace {found.trace!r}"[:200])
    return found


def samples(
    part: pa.Buffer, number: int, columns: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, tuple[NDArray[np.generic], ...]]]:
    """Read columns (name, dtype) of a part in pieces, each with the number of its first row. Raises BadPartError."""
    try:
        with pq.ParquetFile(pa.BufferReader(part)) as file:
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
