# SPDX-License-Identifier: GPL-2.0-or-later
"""A stretch of a trace in columns, and files of it, a block at a time: memory does not grow with it.

Parquet and HDF5 have the table's columns. XDF 1.0 (github.com/sccn/xdf/wiki/Specifications) has a stream of the
channels, whose times are those of the host's CLOCK_MONOTONIC, as Lab Streaming Layer writes them.
"""

import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from happe_cli.errors import Failure
from happe_contract.calibration import Standing, standing
from happe_contract.measuring.refusal import Refusal
from happe_contract.measuring.rig import columns
from happe_contract.rig import Rig, rig_of, values
from happe_contract.traces import Block, Measures
from happe_power.trace import Trace, TraceError

Column = Callable[[Block], NDArray[Any]]

WATTS = "watts"
ZIPPED = zipfile.ZIP_DEFLATED
MICROS = 1_000_000


def between(trace: Trace, from_s: float | None, to_s: float | None) -> tuple[int, int]:
    """The first index of a stretch and the one after its end, from seconds. Raises TraceError; ValueError if empty."""
    first = trace.started.index if from_s is None else max(_at(trace, from_s), trace.started.index)
    end = trace.end_index if to_s is None else min(_at(trace, to_s), trace.end_index)
    if first >= end:
        length = float(trace.seconds(np.array(trace.end_index)))
        raise ValueError(f"the trace has no samples between these times; it is {length:.3f} s long")
    return first, end


def _at(trace: Trace, seconds: float) -> int:
    """The first index at or after so many seconds since the first sample."""
    return math.ceil(trace.times.position(trace.times.us(trace.started.index) + seconds * MICROS) - 1e-6)


def rig(trace: Trace) -> tuple[Rig | Refusal, tuple[str, ...]]:
    """The rig that gives a trace's watts, or why none does; and notes for every figure. Raises TraceError."""
    found = rig_of(trace.channels, trace.calibration)
    worth, said = standing(trace.calibration, datetime.fromtimestamp(trace.started.realtime_us / 1e6, UTC).date())
    return found, () if worth is Standing.GOOD else (said,)


def watts_of(found: Rig, block: Block) -> NDArray[Any]:
    """The watts of a block's samples."""
    _first, x, y = next(iter(columns(found, [block])))
    return found.power(x, y)


class Table:
    """A trace's stretch in columns: index, seconds since the first sample, each channel, and watts if there are any.

    `raw`: the channels' counts, without watts. Otherwise values at the instrument's input, in each channel's unit.
    """

    def __init__(self, trace: Trace, first: int, end: int, *, raw: bool) -> None:
        """Find the columns, and their units. Raises TraceError."""
        self.trace, self.first, self.end = trace, first, end
        self.columns: dict[str, Column] = {"index": _index, "seconds": lambda block: trace.seconds(_index(block))}
        self.units = {"index": "1", "seconds": "s"}
        for position, channel in enumerate(trace.channels):
            name = channel.name if raw else f"{channel.name}_{channel.unit}"
            self.columns[name] = _channel(trace, position, raw=raw)
            self.units[name] = "count" if raw else channel.unit
        found, self.notes = rig(trace)
        if isinstance(found, Rig) and found.channel.measures is not Measures.ENERGY and not raw:
            self.columns[WATTS] = lambda block: watts_of(found, block)
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


GET_H5PY = "pip install happe-power-logger[hdf5]"
CHUNK = 1 << 16  # rows of an HDF5 data set that are compressed together
STREAM = 1
FILE_HEADER, STREAM_HEADER, SAMPLES, STREAM_FOOTER = 1, 2, 3, 6  # tags of XDF's chunks
NOT_VALUES = ("index", "seconds")


def write_parquet(table: Table, file: IO[bytes]) -> None:
    """Write the table's columns; the file's metadata has `happe`, `gaps` and `units` as JSON. Raises TraceError.

    Arrow's own schema also has each field's `unit`, which only Arrow's readers see.
    """
    facts = {name: json.dumps(value) for name, value in (_facts(table) | {"units": table.units}).items()}
    with ExitStack() as opened:
        writer = None
        for columns in _pieces(table):
            fields = [
                pa.field(name, pa.from_numpy_dtype(values.dtype), nullable=False, metadata={"unit": table.units[name]})
                for name, values in columns.items()
            ]
            schema = pa.schema(fields, metadata=facts)
            writer = writer or opened.enter_context(pq.ParquetWriter(file, schema, compression="zstd"))
            writer.write_table(pa.Table.from_arrays([pa.array(each) for each in columns.values()], schema=schema))


def write_hdf5(table: Table, file: IO[bytes]) -> None:
    """Write a data set for each column, with the attribute `unit`. The file's attributes `happe` and `gaps` are JSON.

    Raises TraceError, OSError; Failure if h5py is not installed.
    """
    try:
        import h5py  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise Failure(os.EX_UNAVAILABLE, "HDF5 needs the package h5py", f"`{GET_H5PY}`") from None
    with h5py.File(file, "w") as out:
        for name, value in _facts(table).items():
            out.attrs[name] = json.dumps(value)
        for columns in _pieces(table):
            for name, values in columns.items():
                if name not in out:
                    shape = {"shape": (0,), "maxshape": (None,), "chunks": (CHUNK,), "dtype": values.dtype}
                    out.create_dataset(name, **shape, compression="gzip", compression_opts=1, shuffle=True)
                    out[name].attrs["unit"] = table.units[name]
                data = out[name]
                data.resize((len(data) + len(values),))
                data[-len(values) :] = values


def write_xdf(table: Table, file: IO[bytes]) -> None:
    """Write one stream of the channels in double precision, without lost samples. Raises TraceError, OSError."""
    names = [name for name in table.columns if name not in NOT_VALUES]
    file.write(b"XDF:")
    _chunk(file, FILE_HEADER, _xml("info", {"version": "1.0"}))
    _chunk(file, STREAM_HEADER, struct.pack("<I", STREAM) + _stream(table, names))
    origin = table.trace.started.monotonic_us / MICROS
    layout = np.dtype([("has_time", "u1"), ("time", "<f8"), ("values", "<f8", (len(names),))])
    count, times = 0, (origin, origin)
    for piece in _pieces(table):
        rows = np.empty(len(piece["index"]), layout)
        rows["has_time"], rows["time"] = 8, origin + piece["seconds"]
        rows["values"] = np.column_stack([piece[name] for name in names])
        times = (times[0] if count else float(rows["time"][0]), float(rows["time"][-1]))
        count += len(rows)
        _chunk(file, SAMPLES, struct.pack("<IBI", STREAM, 4, len(rows)) + rows.tobytes())
    footer = {"first_timestamp": repr(times[0]), "last_timestamp": repr(times[1]), "sample_count": str(count)}
    _chunk(file, STREAM_FOOTER, struct.pack("<I", STREAM) + _xml("info", footer))


def _pieces(table: Table) -> Iterator[dict[str, NDArray[Any]]]:
    """Yield each block's columns. Raises TraceError, also without a block: a file without samples has no types."""
    block = None
    for block in table.blocks():
        yield {name: make(block) for name, make in table.columns.items()}
    if block is None:
        raise TraceError(f"{table.trace.folder}: all samples between these times were lost")


def _facts(table: Table) -> dict[str, Any]:
    """The trace's header, and the gaps of the stretch by index."""
    gaps = [gap for gap in table.trace.gaps if gap.to_index > table.first and gap.from_index < table.end]
    return {"happe": table.trace.header, "gaps": [[gap.from_index, gap.to_index, str(gap.reason)] for gap in gaps]}


def _stream(table: Table, names: list[str]) -> bytes:
    """The description of XDF's stream, as in Lab Streaming Layer."""
    source = table.trace.header["source"]
    info = ET.Element("info")
    facts = {"name": source["device"], "type": "Power", "channel_count": str(len(names)), "source_id": table.trace.id}
    facts |= {"nominal_srate": repr(table.trace.rate_hz), "channel_format": "double64"}
    for name, text in facts.items():
        ET.SubElement(info, name).text = text
    described = ET.SubElement(info, "desc")
    channels = ET.SubElement(described, "channels")
    for name in names:
        channel = ET.SubElement(channels, "channel")
        for key, text in (("label", name), ("unit", table.units[name]), ("type", "Power")):
            ET.SubElement(channel, key).text = text
    for name, value in _facts(table).items():
        ET.SubElement(described, name).text = json.dumps(value)
    return _text(info)


def _xml(name: str, facts: dict[str, str]) -> bytes:
    element = ET.Element(name)
    for key, text in facts.items():
        ET.SubElement(element, key).text = text
    return _text(element)


def _text(element: ET.Element) -> bytes:
    text: bytes = ET.tostring(element, encoding="utf-8", xml_declaration=True)
    return text


def _chunk(file: IO[bytes], tag: int, content: bytes) -> None:
    """Write a chunk: the length of the rest in 4 bytes, the tag, the content."""
    file.write(struct.pack("<BIH", 4, len(content) + 2, tag) + content)


WRITERS: dict[str, Callable[[Table, IO[bytes]], None]] = {
    "csv": Table.write_csv,
    "npz": Table.write_npz,
    "parquet": write_parquet,
    "h5": write_hdf5,
    "xdf": write_xdf,
}
