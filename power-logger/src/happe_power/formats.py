# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes samples as Parquet, HDF5 and XDF, with units and the trace's header, a block at a time.

Parquet and HDF5 have the table's columns. XDF 1.0 (github.com/sccn/xdf/wiki/Specifications) has a stream of the
channels, whose times are those of the host's CLOCK_MONOTONIC, as Lab Streaming Layer writes them.
"""

from __future__ import annotations

import json
import os
import struct
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from happe_cli.errors import Failure
from happe_power.trace import TraceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from happe_power.tables import Table

GET_H5PY = "pip install happe-power-logger[hdf5]"
CHUNK = 1 << 16  # rows of an HDF5 data set that are compressed together
STREAM = 1
FILE_HEADER, STREAM_HEADER, SAMPLES, STREAM_FOOTER = 1, 2, 3, 6  # tags of XDF's chunks
NOT_VALUES = ("index", "seconds")
MICROS = 1e6


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
    for columns in _pieces(table):
        rows = np.empty(len(columns["index"]), layout)
        rows["has_time"], rows["time"] = 8, origin + columns["seconds"]
        rows["values"] = np.column_stack([columns[name] for name in names])
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
