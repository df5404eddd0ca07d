# SPDX-License-Identifier: GPL-2.0-or-later
"""The raw spool of the part under way: a file of frames in their order of arrival.

A frame is a head and, for samples, its channels' columns one after the other. The head has a CRC-32 of itself and the
sum of the columns' 64-bit words (a tenth of a CRC's time), so that a reader detects a frame that a kill or a power cut
left torn. A later part reuses the file, because its pages are in memory and its blocks are on the disk already. The
part's number in each head tells its frames from an earlier part's. Only recording/ reads the file.
"""

from __future__ import annotations

import os
import struct
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from happe_contract.traces import Block, Gap, Reason, TimePair
from happe_power.recording import ledger
from happe_power.recording.rows import concatenated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from happe_contract.traces import Channel

Frame = Block | Gap | TimePair

MAGIC = b"hpw1"
HEAD = struct.Struct("<4sHHqqqQQ")  # magic, kind, part, three numbers, bytes that follow, their sum
CRC = struct.Struct("<I")  # of the head
HEAD_BYTES = HEAD.size + CRC.size
SAMPLES, GAP, TIME = 1, 2, 3
REASONS = tuple(Reason)
MOST_BUFFERS = 512  # at most IOV_MAX for one call
MOST_KEPT = 16 * 1024 * 1024


class Journal:
    """A raw spool file for writing. A write that fails leaves the file as it was before.

    `kept` has the written frames, so that nobody must read them again. It is None once they take more than 16 MiB.
    """

    def __init__(self, path: Path, number: int, spare: Path | None = None) -> None:
        """Begin the file of a part; rename `spare` to it if that exists. Raises OSError."""
        if spare is not None:
            with suppress(FileNotFoundError):
                spare.rename(path)
        self._number = number
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o640)
        self._size = 0
        self.rows = 0
        self.kept: list[Frame] | None = []

    def append(self, frames: Sequence[Frame]) -> None:
        """Write all frames; if that fails, write none and raise OSError."""
        buffers = [buffer for frame in frames for buffer in _encoded(frame, self._number)]
        try:
            written = sum(self._write(buffers[at : at + MOST_BUFFERS]) for at in range(0, len(buffers), MOST_BUFFERS))
        except OSError:
            os.ftruncate(self._file, self._size)
            os.lseek(self._file, self._size, os.SEEK_SET)
            raise
        self._size += written
        self.rows += sum(frame.rows for frame in frames if isinstance(frame, Block))
        if self.kept is not None:
            self.kept.extend(frames)
            self.kept = self.kept if self._size <= MOST_KEPT else None

    def _write(self, buffers: list[Any]) -> int:
        """Write all buffers. A disk that fills up takes a first piece, and raises OSError at the next."""
        views = [memoryview(buffer).cast("B") for buffer in buffers]
        total = sum(view.nbytes for view in views)
        left = total
        while left:
            taken = os.writev(self._file, views)
            left -= taken
            while views and taken >= views[0].nbytes:
                taken -= views.pop(0).nbytes
            if views:
                views[0] = views[0][taken:]
        return total

    def sync(self) -> None:
        """Sync the written data to the disk (fdatasync)."""
        os.fdatasync(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


@dataclass
class Content:
    """A raw spool file's content: `runs` of (first index, rows), their columns, gaps, and time pairs by arrival.

    `restarts` are the positions in `pairs` before which the instrument was started again or lost its place.
    """

    runs: list[tuple[int, int]] = field(default_factory=list)
    columns: tuple[NDArray[Any], ...] = ()
    gaps: list[Gap] = field(default_factory=list)
    pairs: list[TimePair] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """The rows of all runs."""
        return sum(rows for _, rows in self.runs)


RESTARTING = {Reason.OVERFLOW, Reason.STALL, Reason.UNPLUGGED, Reason.KILLED}


def read(path: Path, number: int, channels: Sequence[Channel]) -> list[Frame]:
    """The frames of a part's file up to the first torn head. Samples with damaged values become a gap `killed`."""
    data = memoryview(path.read_bytes())
    frames: list[Frame] = []
    at = 0
    while (head := _head(data, at, number)) is not None:
        kind, numbers, size, total = head
        body = data[at + HEAD_BYTES : at + HEAD_BYTES + size]
        at += HEAD_BYTES + size
        if kind == SAMPLES:
            frames.append(_samples(body, channels, numbers, total))
        elif kind == GAP:
            frames.append(Gap(numbers[0], numbers[1], REASONS[numbers[2]]))
        else:
            frames.append(TimePair(*numbers))
    return frames


def content_of(frames: Sequence[Frame], channels: Sequence[Channel]) -> Content:
    """The contents of several frames, joined."""
    content = Content()
    for frame in frames:
        if isinstance(frame, TimePair):
            content.pairs.append(frame)
        elif isinstance(frame, Gap):
            _add_gap(content, frame)
    blocks = [frame for frame in frames if isinstance(frame, Block)]
    content.runs = _runs(blocks)
    content.columns = _columns(blocks, channels)
    return content


def _encoded(frame: Frame, number: int) -> list[Any]:
    if isinstance(frame, TimePair):
        return [_packed((TIME, number), (frame.index, frame.monotonic_us, frame.realtime_us), 0, 0)]
    if isinstance(frame, Gap):
        return [_packed((GAP, number), (frame.from_index, frame.to_index, REASONS.index(frame.reason)), 0, 0)]
    columns = [np.ascontiguousarray(column) for column in frame.columns]
    size, total = sum(column.nbytes for column in columns), _sum(columns)
    return [_packed((SAMPLES, number), (frame.first_index, frame.rows, 0), size, total), *columns]


def _sum(columns: Sequence[NDArray[Any]]) -> int:
    """The sum of columns' bytes, as words of 64 bits that wrap around."""
    total = 0
    for column in columns:
        raw, whole = column.view(np.uint8), column.nbytes // 8 * 8
        total += int(raw[:whole].view(np.uint64).sum()) + int.from_bytes(raw[whole:].tobytes(), "little")
    return total % 2**64


def _packed(kind: tuple[int, int], numbers: tuple[int, int, int], size: int, total: int) -> bytes:
    head = HEAD.pack(MAGIC, *kind, *numbers, size, total)
    return head + CRC.pack(zlib.crc32(head))


def _head(data: memoryview, at: int, number: int) -> tuple[int, tuple[int, int, int], int, int] | None:
    """Kind, numbers, size and sum of the frame at a place; None: there is no whole head of this part."""
    raw = data[at : at + HEAD.size]
    if len(data) < at + HEAD_BYTES or CRC.unpack_from(data, at + HEAD.size)[0] != zlib.crc32(raw):
        return None
    magic, kind, part, first, second, third, size, total = HEAD.unpack(raw)
    return (kind, (first, second, third), size, total) if (magic, part) == (MAGIC, number) else None


def _samples(body: memoryview, channels: Sequence[Channel], numbers: tuple[int, int, int], total: int) -> Block | Gap:
    """The samples in a frame's body; a gap if the body is damaged."""
    first_index, rows, _ = numbers
    lost = Gap(first_index, first_index + rows, Reason.KILLED)
    if len(body) != rows * sum(channel.dtype.itemsize for channel in channels):
        return lost
    columns = []
    at = 0
    for channel in channels:
        columns.append(np.frombuffer(body, channel.dtype, rows, at))
        at += rows * channel.dtype.itemsize
    return Block(first_index, tuple(columns)) if _sum(columns) == total else lost


def _add_gap(content: Content, gap: Gap) -> None:
    ledger.add(content.gaps, gap)
    if gap.reason in RESTARTING:
        content.restarts.append(len(content.pairs))


def _runs(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for block in blocks:
        if runs and sum(runs[-1]) == block.first_index:
            runs[-1] = (runs[-1][0], runs[-1][1] + block.rows)
        else:
            runs.append((block.first_index, block.rows))
    return runs


def _columns(blocks: Sequence[Block], channels: Sequence[Channel]) -> tuple[NDArray[Any], ...]:
    if not blocks:
        return tuple(np.empty(0, channel.dtype) for channel in channels)
    return tuple(map(concatenated, zip(*(block.columns for block in blocks), strict=True)))
