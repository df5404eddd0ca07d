# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the readings of one trace, part by part: a raw file first, which becomes the part once it is complete.

Readings that find no room become a gap `storage`. While the disk refuses a part, its raw file waits.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from happe_cli.disk import sync_folder
from happe_contract.faults import BadDocumentError
from happe_contract.traces import Block, Channel, Gap, Reason, TimePair
from happe_power.recording import closing, indices
from happe_power.recording.closing import EndError, Open
from happe_power.recording.guard import HOLD_S, guarded
from happe_power.recording.raw import RawFile, Record
from happe_power.sources.source import Reading
from happe_power.trace import TraceError

MOST_WAITING = 30  # raw files that may wait to become parts


class Writer:
    """The writer of a trace.

    A part ends at a multiple of its rows, and only once it has a row, so that parts are numbered without a hole.
    `failed` lists why parts or the manifest were given up; the next recovery makes them.
    """

    def __init__(
        self,
        trace: Open,
        channels: Sequence[Channel],
        has_room: Callable[[], bool],
        behind: Callable[[], bool] = lambda: False,
    ) -> None:
        """Begin at the trace's first index. `channels` are the source's. `has_room`: for one more part on the disk.

        `behind`: readings wait in memory, where a kill loses them, so they go before the making of parts.
        """
        self._open, self._trace, self._channels = trace, trace.trace, channels
        self.number = self.rows = self.lost = self.gaps = 0
        self.failed: list[str] = []
        self._has_room, self._behind = has_room, behind
        self._hold = round(self._trace.rate_hz * HOLD_S)
        self._next_index = self._trace.started.index
        self._boundary = self._part_end(self._trace.started.index)
        self._latest = self._trace.started
        self._held: list[Gap] = []
        self._waiting: list[int] = []
        self._records: list[Record] | None = None  # those of the part that was complete just now
        self._raw: RawFile | None = None
        self._unsynced = False
        self._refused = {"write": "", "close": ""}

    @property
    def trouble(self) -> str:
        """Why the disk takes nothing now; empty: no problem."""
        return self._refused["write"] or self._refused["close"]

    def put(self, reading: Reading) -> None:
        """Write a reading. A fault of the disk raises nothing; `trouble` reports it."""
        at = reading.at
        for item in indices.continued(reading.items, self._next_index):
            self._next_index = indices.span(item)[1]
            for piece in self._pieces(item):
                here = at is not None and at.index == indices.span(piece)[1]
                self._put(piece, [at] if at and here else [])
                at = None if here else at
        self._write([at] if at else [])

    def tend(self) -> None:
        """Sync the written data to the disk, and make parts that wait. Called each second."""
        self._sync()
        self._close_parts()

    def finish(self) -> None:
        """Try once more to write the held gaps, in whatever room the disk has. Then close the open file."""
        if self._held:
            self._has_room = lambda: True
            self._write([])
        self._roll()
        if self._raw:
            self._sync()
            self._raw.close()
            self._raw = None

    def end(self) -> bool:
        """Make the parts that wait, and end the trace, after `finish`. False: the disk refuses; try again later."""
        return self._close_parts() and self._insist(self._open.end)

    def give_up(self) -> None:
        """Leave the rest to the next recovery."""
        self.failed.append(self.trouble)

    def _pieces(self, item: Block | Gap) -> Iterator[Block | Gap]:
        """Cut a block where parts end, and where samples can't be used."""
        while isinstance(item, Block) and item.end_index > (end := self._part_end(item.first_index)):
            rows = end - item.first_index
            yield from self._guarded(Block(item.first_index, tuple(column[:rows] for column in item.columns)))
            item = Block(end, tuple(column[rows:] for column in item.columns))
        if isinstance(item, Block):
            yield from self._guarded(item)
        else:
            yield item

    def _guarded(self, block: Block) -> list[Block | Gap]:
        return guarded(block, self._channels, self._hold)

    def _part_end(self, index: int) -> int:
        """The end of the part that contains `index`. Parts end at multiples of `part_rows`."""
        past = index - self._trace.started.index
        return self._trace.started.index + (past // self._trace.part_rows + 1) * self._trace.part_rows

    def _put(self, piece: Block | Gap, times: list[TimePair]) -> None:
        """Write a piece that lies in one part, and the time of its end."""
        if isinstance(piece, Gap):
            self._lose(piece)
            self._write(times)
        elif self._write([piece, *times]):
            self.rows += piece.rows
        else:
            self._lose(Gap(piece.first_index, piece.end_index, Reason.STORAGE))
        end = indices.span(piece)[1]
        if end >= self._boundary:
            self._boundary = self._part_end(end)
            self._roll()
            self._close_parts()

    def _write(self, records: Sequence[Block | TimePair]) -> bool:
        """Write the held gaps, then records: all or nothing."""
        self._latest = next((each for each in reversed(records) if isinstance(each, TimePair)), self._latest)
        if not records and not self._held:
            return True
        try:
            if self._raw is None:
                self._raw = self._opened()
            self._raw.append([*self._held, *records])
        except OSError as error:
            self._refused["write"] = _said(error)
            return False
        self._held.clear()
        self._unsynced = True
        self._refused["write"] = ""
        return True

    def _opened(self) -> RawFile:
        """Open the next part's raw file. It begins with the latest time pair, so that each part has one."""
        if not self._has_room() or len(self._waiting) >= MOST_WAITING:
            raise OSError(
                0, "No space left: the upload needs the rest, or parts can't be closed as fast as samples come"
            )
        path = self._trace.raw(self.number)
        raw = RawFile(path)
        first: list[Record] = [self._latest]
        try:
            raw.append(first)
            sync_folder(path.parent)
        except OSError:
            raw.close()
            path.unlink(missing_ok=True)
            raise
        return raw

    def _lose(self, gap: Gap) -> None:
        last = self._held[-1] if self._held else None
        indices.add(self._held, gap)
        self.lost += 0 if gap.reason is Reason.ZERO else gap.to_index - gap.from_index
        self.gaps += last is None or last.to_index != gap.from_index or last.reason is not gap.reason

    def _roll(self) -> None:
        """Close the raw file, if it has a row. It then waits to become a part."""
        if self._raw is None or not self._raw.rows:
            return
        self._sync()
        self._raw.close()
        self._records = None if self._waiting else self._raw.records
        self._raw = None
        self._waiting.append(self.number)
        self.number += 1

    def _sync(self) -> None:
        if self._raw and self._unsynced:
            try:
                self._raw.sync()
                self._unsynced = False
            except OSError as error:
                self._refused["write"] = _said(error)

    def _close_parts(self) -> bool:
        """Make parts of the files that wait, in order. False: the disk refuses one, or there is no time now."""
        while self._waiting:
            if self._behind() and len(self._waiting) < MOST_WAITING:
                return False
            close = partial(closing.close_part, self._trace, self._waiting[0], self._records)
            self._records = None
            if not self._insist(close):
                return False
            del self._waiting[0]
        return True

    def _insist(self, work: Callable[[], None]) -> bool:
        """Do work for which the disk may lack room. False: it is to be done again later."""
        try:
            work()
        except OSError as error:
            self._refused["close"] = f"{error.filename or 'spool'}: {_said(error)}"
            return False
        except (BadDocumentError, EndError, TraceError) as error:
            self.failed.append(str(error))
        self._refused["close"] = ""
        return True


def _said(error: OSError) -> str:
    return error.strerror or str(error)
