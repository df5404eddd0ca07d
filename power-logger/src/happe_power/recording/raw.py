# SPDX-License-Identifier: GPL-2.0-or-later
"""The raw file of the part under way: records in their order of arrival, only ever appended.

A record is a head and, for samples, the channels' columns one after the other. The head has a CRC-32 of itself and the
sum of the columns' 64-bit words (a tenth of a CRC's time). These show a record that a kill or a power cut left torn.
Only recording/ reads the file.
"""

import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happe_contract.traces import Block, Channel, Gap, Reason, TimePair
from happe_power.recording import indices

Record = Block | Gap | TimePair

HEAD = struct.Struct("<IqqqQQ")  # kind, three numbers, bytes that follow, their sum
CRC = struct.Struct("<I")  # of the head
HEAD_BYTES = HEAD.size + CRC.size
SAMPLES, GAP, TIME = 1, 2, 3
REASONS = tuple(Reason)
RESTARTING = {Reason.OVERFLOW, Reason.STALL, Reason.UNPLUGGED, Reason.KILLED}


class RawFile:
    """A new raw file for writing. A write that fails leaves the file as it was before.

    `records` are those in the file, so that nobody must read them again.
    """

    def __init__(self, path: Path) -> None:
        """Make the file. Raises OSError."""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o640)
        self._size = 0
        self.rows = 0
        self.records: list[Record] = []

    def append(self, records: Sequence[Record]) -> None:
        """Write all records; if that fails, write none and raise OSError."""
        data = memoryview(b"".join(piece for record in records for piece in _encoded(record)))
        left = data
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(data)
        self.records += records
        self.rows += sum(record.rows for record in records if isinstance(record, Block))

    def sync(self) -> None:
        """Sync the written data to the disk."""
        os.fdatasync(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


@dataclass
class Content:
    """A raw file's content: `runs` of (first index, rows), their columns, gaps, and time pairs by arrival.

    `restarts` are the positions in `pairs` before which the instrument was started again or lost its place.
    """

    runs: list[tuple[int, int]] = field(default_factory=list)
    columns: tuple[NDArray[Any], ...] = ()
    gaps: list[Gap] = field(default_factory=list)
    pairs: list[TimePair] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)


def read(path: Path, channels: Sequence[Channel]) -> list[Record]:
    """The records of a raw file up to the first torn head. Samples with damaged values become a gap `killed`."""
    data = memoryview(path.read_bytes())
    records: list[Record] = []
    at = 0
    while (head := _head(data, at)) is not None:
        kind, first, second, third, size, total = head
        body = data[at + HEAD_BYTES : at + HEAD_BYTES + size]
        at += HEAD_BYTES + size
        if kind == TIME:
            records.append(TimePair(first, second, third))
        elif kind == GAP:
            records.append(Gap(first, second, REASONS[third]))
        elif len(body) == size and _sum(columns := _columns(body, channels, second)) == total:
            records.append(Block(first, columns))
        else:
            records.append(Gap(first, first + second, Reason.KILLED))
    return records


def content_of(records: Sequence[Record]) -> Content:
    """The content of several records, joined."""
    content = Content()
    for record in records:
        if isinstance(record, TimePair):
            content.pairs.append(record)
        elif isinstance(record, Gap):
            indices.add(content.gaps, record)
            if record.reason in RESTARTING:
                content.restarts.append(len(content.pairs))
    blocks = [record for record in records if isinstance(record, Block)]
    content.runs = _runs(blocks)
    if blocks:
        content.columns = tuple(map(np.concatenate, zip(*(block.columns for block in blocks), strict=True)))
    return content


def _encoded(record: Record) -> list[Any]:
    if isinstance(record, TimePair):
        return [_packed(TIME, (record.index, record.monotonic_us, record.realtime_us), 0, 0)]
    if isinstance(record, Gap):
        return [_packed(GAP, (record.from_index, record.to_index, REASONS.index(record.reason)), 0, 0)]
    columns = [np.ascontiguousarray(column) for column in record.columns]
    size = sum(column.nbytes for column in columns)
    return [_packed(SAMPLES, (record.first_index, record.rows, 0), size, _sum(columns)), *columns]


def _sum(columns: Sequence[NDArray[Any]]) -> int:
    """The sum of columns' bytes, as words of 64 bits that wrap around."""
    total = 0
    for column in columns:
        raw, whole = column.view(np.uint8), column.nbytes // 8 * 8
        total += int(raw[:whole].view(np.uint64).sum()) + int.from_bytes(raw[whole:].tobytes(), "little")
    return total % 2**64


def _packed(kind: int, numbers: tuple[int, int, int], size: int, total: int) -> bytes:
    head = HEAD.pack(kind, *numbers, size, total)
    return head + CRC.pack(zlib.crc32(head))


def _head(data: memoryview, at: int) -> tuple[int, int, int, int, int, int] | None:
    """The head of the record at a place; None: there is no whole one."""
    raw = data[at : at + HEAD.size]
    if len(data) < at + HEAD_BYTES or CRC.unpack_from(data, at + HEAD.size)[0] != zlib.crc32(raw):
        return None
    return HEAD.unpack(raw)


def _columns(body: memoryview, channels: Sequence[Channel], rows: int) -> tuple[NDArray[Any], ...]:
    columns, at = [], 0
    for channel in channels:
        columns.append(np.frombuffer(body, channel.dtype, rows, at))
        at += rows * channel.dtype.itemsize
    return tuple(columns)


def _runs(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for block in blocks:
        if runs and sum(runs[-1]) == block.first_index:
            runs[-1] = (runs[-1][0], runs[-1][1] + block.rows)
        else:
            runs.append((block.first_index, block.rows))
    return runs
