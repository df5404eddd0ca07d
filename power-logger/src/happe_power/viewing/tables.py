# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes samples as CSV and NPZ, a block at a time: memory does not grow with the stretch."""

from __future__ import annotations

import io
import json
import zipfile
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from happe_contract.measuring.rig import columns
from happe_contract.rig import Rig, values
from happe_contract.traces import Measures
from happe_power.viewing.curves import WATTS, rig
from happe_power.viewing.stretch import axis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from happe_contract.traces import Block
    from happe_power.trace import Trace

    Column = Callable[[Block], NDArray[Any]]

ZIPPED = zipfile.ZIP_DEFLATED


class Table:
    """A trace's stretch in columns: index, seconds since the first sample, each channel, and watts if there are any.

    `raw`: the channels' counts, without watts. Otherwise values at the instrument's input, in each channel's unit.
    """

    def __init__(self, trace: Trace, first: int, end: int, *, raw: bool) -> None:
        """Find the columns, and their units. Raises TraceError."""
        self.trace, self.first, self.end = trace, first, end
        line = axis(trace)
        self.columns: dict[str, Column] = {"index": _index, "seconds": lambda block: line.seconds(_index(block))}
        self.units = {"index": "1", "seconds": "s"}
        for position, channel in enumerate(trace.channels):
            name = channel.name if raw else f"{channel.name}_{channel.unit}"
            self.columns[name] = _channel(trace, position, raw=raw)
            self.units[name] = "count" if raw else channel.unit
        found, self.notes = rig(trace)
        if isinstance(found, Rig) and found.channel.measures is not Measures.ENERGY and not raw:
            self.columns[WATTS] = _watts(found)
            self.units[WATTS] = "W"

    def blocks(self) -> Iterator[Block]:
        """The stretch's samples. Raises TraceError."""
        return self.trace.blocks(self.first, self.end)

    def write_csv(self, file: IO[bytes]) -> None:
        """Write a line of names, then a line for each sample; lost indices have no line. Raises TraceError."""
        writer = None
        options = pa.csv.WriteOptions(quoting_style="none", include_header=False)
        file.write(",".join(self.columns).encode() + b"\n")
        for block in self.blocks():
            table = pa.table({name: make(block) for name, make in self.columns.items()})
            writer = writer or pa.csv.CSVWriter(file, table.schema, write_options=options)
            writer.write_table(table)
        if writer is not None:
            writer.close()

    def write_npz(self, file: IO[bytes]) -> None:
        """Write an array for each column, `gaps` (first index, one past the last), and `header` as JSON."""
        rows = sum(block.rows for block in self.blocks())
        with zipfile.ZipFile(file, "w", ZIPPED, compresslevel=1) as archive:
            for name, make in self.columns.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
                    _write_array(out, rows, (make(block) for block in self.blocks()))
            gaps = [(gap.from_index, gap.to_index) for gap in self.trace.gaps if gap.from_index < self.end]
            _write_whole(archive, "gaps", np.array(gaps, dtype=np.int64).reshape(-1, 2))
            _write_whole(archive, "header", np.array(json.dumps(self.trace.header)))


def _index(block: Block) -> NDArray[Any]:
    return np.arange(block.first_index, block.end_index, dtype=np.int64)


def _channel(trace: Trace, position: int, *, raw: bool) -> Column:
    channel = trace.channels[position]
    return lambda block: block.columns[position] if raw else values(channel, block.columns[position])


def _watts(found: Rig) -> Column:
    def make(block: Block) -> NDArray[Any]:
        _first, x, y = next(iter(columns(found, [block])))
        return found.power(x, y)

    return make


def _write_array(out: IO[bytes], rows: int, pieces: Iterator[NDArray[Any]]) -> None:
    """Write an array in numpy's format, piece by piece."""
    for number, piece in enumerate(pieces):
        if number == 0:
            shape = {"descr": np.lib.format.dtype_to_descr(piece.dtype), "fortran_order": False, "shape": (rows,)}
            np.lib.format.write_array_header_2_0(out, shape)
        out.write(np.ascontiguousarray(piece).tobytes())


def _write_whole(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    archive.writestr(f"{name}.npy", buffer.getvalue())


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file that appears under its name only when the body has succeeded. Never replaces a file.

    Raises FileExistsError, OSError.
    """
    if path.exists():
        raise FileExistsError(17, "File exists", str(path))
    path.parent.stat()  # the error names the missing folder, not the unfinished file
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with unfinished.open("w+b") as file:
            yield file
        path.hardlink_to(unfinished)
    finally:
        unfinished.unlink(missing_ok=True)
