# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes readings to the raw spool of one trace, part by part. Readings not written become a gap `storage`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_cli.disk import sync_folder
from happe_contract.traces import Block, Gap, Reason, TimePair
from happe_power.recording import ledger, time_base
from happe_power.recording.guard import HOLD_S, guarded
from happe_power.recording.journal import MOST_KEPT, Journal
from happe_power.recording.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from happe_power.recording.journal import Frame
    from happe_power.recording.layout import Layout
    from happe_power.sources.source import Reading


class Spool:
    """The raw spool of a trace. It passes each complete part's number, and its frames if still known, to `full`.

    A part ends at a multiple of its rows, and only once it has a row, so that parts are numbered without a hole.
    `trouble` is the reason why it can write nothing now; empty: no problem.
    """

    def __init__(
        self,
        layout: Layout,
        started: TimePair,
        *,
        full: Callable[[int, list[Frame] | None], None],
        room: Callable[[], bool],
    ) -> None:
        """Begin at the trace's first index. `room`: whether there is room for one more part; may raise OSError."""
        self.layout = layout
        self.number = 0
        self.next_index = layout.origin
        self.rows = 0
        self.lost = 0
        self.gaps = 0
        self.trouble = ""
        self._full = full
        self._room = room
        self._hold = round(layout.rate_hz * HOLD_S)
        self._boundary = self._part_end(layout.origin)
        self._rows = self._room_for_rows()
        self._held: list[Gap] = []
        self._latest = started
        self._journal: Journal | None = None
        self._unsynced = False

    def put(self, readings: Iterable[Reading]) -> None:
        """Write readings. A fault of the disk raises nothing; `trouble` reports it."""
        blocks: list[Block] = []
        pairs: list[TimePair] = []
        for reading in readings:
            for item in ledger.continued(reading.items, self.next_index):
                self.next_index = ledger.span(item)[1]
                if isinstance(item, Block):
                    blocks.append(item)
                else:
                    self._put_all(blocks, pairs)
                    self._put(item, [])
                    blocks, pairs = [], []
            if reading.at:
                pairs.append(reading.at)
        self._put_all(blocks, pairs)

    def sync(self) -> None:
        """Sync the written data to the disk."""
        if self._journal and self._unsynced:
            try:
                self._journal.sync()
                self._unsynced = False
            except OSError as error:
                self.trouble = _said(error)

    def finish(self) -> None:
        """Try once more to write the held gaps, in whatever room the disk has. Then close the open file."""
        if self._held:
            self._room = lambda: True
            self._write([])
        self._roll()
        if self._journal:
            self.sync()
            self._journal.close()

    def _put_all(self, blocks: list[Block], pairs: list[TimePair]) -> None:
        """Write blocks that follow each other, each piece with the times up to its end."""
        pairs = time_base.thinned(pairs, self.layout.rate_hz, 1)
        for of_part in self._by_part(blocks):
            for piece in guarded(self._rows.joined(of_part), self.layout.channels, self._hold):
                end = ledger.span(piece)[1]
                self._put(piece, [pair for pair in pairs if pair.index <= end])
                pairs = [pair for pair in pairs if pair.index > end]
        self._write(pairs)

    def _by_part(self, blocks: list[Block]) -> Iterator[list[Block]]:
        """Group blocks that follow each other by part, and cut them where parts end."""
        of_part: list[Block] = []
        for block in blocks:
            while block.end_index > self._boundary:
                here, block = _cut(block, self._boundary)  # noqa: PLW2901 - what is left of it
                yield [*of_part, *here]
                of_part = []
            of_part.append(block)
        if of_part:
            yield of_part

    def _part_end(self, index: int) -> int:
        """The end of the part that contains `index`. Parts end at multiples of `part_rows`."""
        past = index - self.layout.origin
        return self.layout.origin + (past // self.layout.part_rows + 1) * self.layout.part_rows

    def _put(self, piece: Block | Gap, times: list[TimePair]) -> None:
        """Write a piece that lies in one part, and the times that came with it."""
        if isinstance(piece, Gap):
            self._lose(piece)
            self._write(times)
        elif self._write([piece, *times]):
            self.rows += piece.rows
        else:
            self._lose(Gap(piece.first_index, piece.end_index, Reason.STORAGE))
        end = ledger.span(piece)[1]
        if end >= self._boundary:
            self._next_part(end)

    def _write(self, frames: Sequence[Block | TimePair]) -> bool:
        """Write the held gaps, then frames: all or nothing."""
        self._latest = next((frame for frame in reversed(frames) if isinstance(frame, TimePair)), self._latest)
        if not frames and not self._held:
            return True
        try:
            if self._journal is None:
                self._journal = self._opened()
            self._journal.append([*self._held, *frames])
        except OSError as error:
            self.trouble = _said(error)
            return False
        self._held.clear()
        self._unsynced = True
        self.trouble = ""
        return True

    def _opened(self) -> Journal:
        """Open the next part's raw file. It begins with the latest time pair, so that each part has one."""
        if not self._room():
            raise OSError(
                0, "No space left: the upload needs the rest, or parts can't be closed as fast as samples come"
            )
        path = self.layout.journal(self.number)
        journal = Journal(path, self.number, self.layout.spare)
        try:
            journal.append([self._latest])
            sync_folder(path.parent)
        except OSError:
            journal.close()
            path.unlink(missing_ok=True)
            raise
        return journal

    def _lose(self, gap: Gap) -> None:
        last = self._held[-1] if self._held else None
        ledger.add(self._held, gap)
        self.lost += 0 if gap.reason is Reason.ZERO else gap.to_index - gap.from_index
        self.gaps += last is None or last.to_index != gap.from_index or last.reason is not gap.reason

    def _next_part(self, reached: int) -> None:
        self._boundary = self._part_end(reached)
        self._rows = self._room_for_rows()
        self._roll()

    def _room_for_rows(self) -> Rows:
        """Allocate room for the rows of a part; none if the journal would not keep so many."""
        rows, channels = self.layout.part_rows, self.layout.channels
        kept = rows * sum(channel.dtype.itemsize for channel in channels) <= MOST_KEPT
        return Rows(channels, rows if kept else 0)

    def _roll(self) -> None:
        """Close the part and pass it to `full`, if it has a row."""
        if self._journal is None or not self._journal.rows:
            return
        self.sync()
        self._journal.close()
        self._full(self.number, self._journal.kept)
        self._journal = None
        self.number += 1


def _cut(block: Block, at: int) -> tuple[list[Block], Block]:
    """Split a block at an index: the rows before it, if there are any, and the others."""
    before = at - block.first_index
    if before == 0:
        return [], block
    here, there = zip(*((column[:before], column[before:]) for column in block.columns), strict=True)
    return [Block(block.first_index, here)], Block(at, there)


def _said(error: OSError) -> str:
    return error.strerror or str(error)
