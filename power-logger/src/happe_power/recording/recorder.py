# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording: one thread reads the instrument, one writes the raw spool, one closes parts (docs/decisions.md).

The first never waits for the disk or for compression. Samples that find no room become a gap.
"""

from __future__ import annotations

import math
import shutil
import threading
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from happe_power.recording import closing, ledger, store
from happe_power.recording.belt import Belt, capacity
from happe_power.recording.closer import Closer
from happe_power.recording.header import boot_clock, header_of, row_bytes
from happe_power.recording.layout import Layout
from happe_power.recording.spooling import Spool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from happe_contract.traces import TimePair
    from happe_power.recording.header import Purpose
    from happe_power.recording.journal import Frame
    from happe_power.recording.store import Open
    from happe_power.recording.tending import Tended
    from happe_power.recording.zeroing import Zeroing
    from happe_power.sources.source import Reading

READ_S = 0.2
SYNC_S = 1.0
MOST_WAITING = 30  # parts that may wait to be closed
MOST_IN_MEMORY = 2  # how many of them may keep their frames in memory
KEPT_FREE = 16 << 20  # free bytes for manifest, seal and the uploader's notes: without these, no part is ever deleted
KEPT_SHARE = 20  # the same on a small disk: a twentieth of it


@dataclass(frozen=True)
class Limits:
    """The most indices of a recording, and the most parts and gaps of a trace before another trace follows it.

    A manifest takes 32,768 parts and 16,384 gaps. The limits are lower, as readings taken together may add several.
    """

    indices: float = math.inf
    parts: int = 28_000
    gaps: int = 12_000


def last_second(readings: Sequence[Reading], rate_hz: float) -> Sequence[Reading]:
    """The last readings that together have a second's indices, or all if they have fewer."""
    indices = 0
    for position in range(len(readings) - 1, -1, -1):
        indices += sum(end - first for first, end in map(ledger.span, readings[position].items))
        if indices >= rate_hz:
            return readings[position:]
    return readings


class Recorder:
    """Records into the folder of a study. When a trace is full, another one follows at the very next index.

    `folders` are the traces' folders so far; `errors` are the faults that ended the recording early.
    """

    def __init__(
        self,
        tended: Tended | Zeroing,
        study: Path,
        purpose: Purpose,
        *,
        limits: Limits | None = None,
        beside: Mapping[str, bytes] | None = None,
    ) -> None:
        """Record a source that is not started. `beside`: further files for each trace's folder, by name."""
        self.tended = tended
        self.folders: list[Path] = []
        self.errors: list[BaseException] = []
        self.rows = 0
        self.reached = (0, 0)  # rows, and the monotonic microseconds up to which they go, by the source's own times
        self.recent: Sequence[Reading] = ()
        self._study, self._purpose, self._beside = study, purpose, beside or {}
        self._closer = Closer()
        self._limits = limits or Limits()
        source = tended.source
        patient = bool(getattr(source, "patient", False))
        self._belt = Belt(capacity(source.rate_hz, row_bytes(source)), patient=patient)
        self._stop = threading.Event()
        self._lost_before = 0
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the instrument and the first trace. Raises SourceError, OSError, BadDocumentError."""
        self._clock = boot_clock()
        started = self.tended.start(0)
        self.reached = (0, started.monotonic_us)
        try:
            self._begin(started)
        except BaseException:
            self.tended.finish()
            raise
        works = {"acquire": self._acquire, "spool": self._write, "close": self._closer.run}
        for name, work in works.items():
            thread = threading.Thread(target=self._guarded, args=(work,), name=f"happe-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def finish_soon(self) -> None:
        """Stop the instrument after its next reading. Close the parts and end the trace if the disk allows it soon."""
        self._stop.set()
        self._closer.hurry()

    def wait(self) -> None:
        """Wait until all data is on the disk, or until only a recovery can write the rest."""
        for thread in self._threads:
            thread.join()
        self._trace.lock.close()

    def stop(self) -> None:
        """Finish the recording, and wait for its end."""
        self.finish_soon()
        self.wait()

    @property
    def over(self) -> bool:
        """Whether the recording is ending or over: by request, by an error or at the end of the source."""
        return self._stop.is_set()

    @property
    def alive(self) -> bool:
        """Whether all threads of the recording run."""
        return all(thread.is_alive() for thread in self._threads)

    @property
    def lost(self) -> int:
        """How many indices have no row, in all traces. Those of zero checks do not count."""
        return self._lost_before + self._spool.lost

    @property
    def trouble(self) -> str:
        """The present problem, for people; empty if there is none."""
        return self.tended.trouble or self._spool.trouble or self._closer.trouble

    @property
    def failed(self) -> list[str]:
        """The unwritten data, which the next recovery writes."""
        return self._closer.failed

    def _guarded(self, work: Callable[[], None]) -> None:
        """Do a thread's work. An unexpected error in it ends the recording, with the data so far."""
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - whoever waits for the recording reports it
            self.errors.append(error)
            self._stop.set()

    def _acquire(self) -> None:
        try:
            while not (self._stop.is_set() or self.tended.ended or self.tended.next_index >= self._limits.indices):
                self._belt.put(self.tended.read(READ_S))
        finally:
            self._stop.set()
            self._belt.put(self.tended.finish())
            self._belt.end()

    def _write(self) -> None:
        try:
            self._write_all()
        finally:
            while self._belt.take() is not None:  # after a fault, so that nobody waits for room
                pass
            self._closer.hurry()
            self._end(self._trace, self._spool)
            self._closer.end()

    def _write_all(self) -> None:
        synced = time.monotonic()
        while (readings := self._belt.take()) is not None:
            self._put(readings)
            if time.monotonic() - synced >= SYNC_S:
                self._spool.sync()
                synced = time.monotonic()

    def _put(self, readings: Sequence[Reading]) -> None:
        before = self._spool.rows
        self._spool.put(readings)
        self.rows += self._spool.rows - before
        self.recent = last_second((*self.recent, *readings), self.tended.source.rate_hz)
        at = readings[-1].at if readings else None
        if at:
            self.reached = (self.rows, at.monotonic_us)
        if at and self._is_full():
            self._follow(at)

    def _is_full(self) -> bool:
        return self._spool.number >= self._limits.parts - 1 or self._spool.gaps >= self._limits.gaps

    def _begin(self, started: TimePair) -> None:
        source, purpose = self.tended.source, self._purpose
        name = str(uuid.uuid4())
        where = (self._study / name, name)
        layout = Layout(*where, source.channels, source.rate_hz, started.index, purpose.part_seconds)
        header = header_of(source, purpose, name, started, self._clock)
        self._trace = store.create(self._study, layout, header, self._beside)
        self.folders.append(layout.folder)
        self._spool = Spool(layout, started, full=self._closing(layout), room=self._has_room)

    def _has_room(self) -> bool:
        """Whether there is room for one more part. Raises OSError."""
        disk = shutil.disk_usage(self._study)
        return disk.free >= min(KEPT_FREE, disk.total // KEPT_SHARE) and self._closer.has_room(MOST_WAITING)

    def _closing(self, layout: Layout) -> Callable[[int, list[Frame] | None], None]:
        def full(number: int, kept: list[Frame] | None) -> None:
            memory = kept if self._closer.has_room(MOST_IN_MEMORY) else None
            self._closer.put(lambda: closing.close_part(layout, number, memory))
            if self._belt.patient:
                self._closer.wait_for_room(1)

        return full

    def _follow(self, at: TimePair) -> None:
        """End this trace and begin the next. Without disk space this trace continues, and a later call tries again."""
        trace, spool = self._trace, self._spool
        try:
            self._begin(at)
        except OSError:
            return
        self._lost_before += spool.lost
        self._end(trace, spool)

    def _end(self, trace: Open, spool: Spool) -> None:
        spool.finish()
        self._closer.put(trace.end)
