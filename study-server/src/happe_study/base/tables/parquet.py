# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows as Parquet."""

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from happe_study.base.tables.columns import Column, Kind

TYPES = {Kind.TEXT: pa.string(), Kind.INTEGER: pa.int64(), Kind.NUMBER: pa.float64(), Kind.BOOLEAN: pa.bool_()}


def encoded(columns: Sequence[Column], batches: Iterable[Sequence[tuple[Any, ...]]]) -> Iterator[bytes]:
    """A file of these rows, in pieces. Each batch becomes a row group."""
    schema = pa.schema([pa.field(c.name, TYPES[c.kind], metadata={"unit": c.unit, "about": c.about}) for c in columns])
    sink = _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        for batch in batches:
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
