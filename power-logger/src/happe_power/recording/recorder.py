# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording: one thread reads the instrument, another one writes (docs/decisions.md).

The first never waits for the disk or for compression. Samples that find no room become a gap.
"""

import math
import queue
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from happe_contract.traces import Block, Gap, Reason, TimePair
from happe_power.recording import closing, indices
from happe_power.recording.header import Purpose, boot_clock, header_of
from happe_power.recording.tending import Tended
from happe_power.recording.writer import Writer
from happe_power.sources.source import Reading
from happe_power.trace import Trace

READ_S = 0.2
SYNC_S = 1.0
RETRY_S = 1.0
LAST_TRIES = 3  # at the end, if the disk refuses a write
MOST_READINGS, MOST_PATIENT = 256, 4  # in the queue to the writer; of a source that can wait for it
MOST_LATE = 5  # readings in the queue; with more, writing them goes before closing parts
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
    had = 0
    for position in range(len(readings) - 1, -1, -1):
        had += sum(end - first for first, end in map(indices.span, readings[position].items))
        if had >= rate_hz:
            return readings[position:]
    return readings


class Recorder:
    """Records into the folder of a study. When a trace is full, another one follows at the very next index.

    `folders` are the traces' folders so far; `errors` are the faults that ended the recording early.
    """

    def __init__(
        self,
        tended: Tended,
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
        self.reached = (0, 0)  # rows, and the monotonic microseconds up to which they go, by the source's own times
        self.recent: Sequence[Reading] = ()
        self._study, self._purpose, self._beside = study, purpose, beside or {}
        self._limits = limits or Limits()
        self._patient = bool(getattr(tended.source, "patient", False))
        most = MOST_PATIENT if self._patient else MOST_READINGS
        self._queue: queue.Queue[Reading | None] = queue.Queue(most)
        self._dropped: list[Gap] = []
        self._stop = threading.Event()
        self._writers: list[Writer] = []
        self._unended: list[Writer] = []
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start the instrument and the first trace. Raises SourceError, OSError, BadDocumentError."""
        started = self.tended.start(0)
        self._clock = getattr(self.tended.source, "clock", None) or boot_clock()
        self.reached = (0, started.monotonic_us)
        try:
            self._begin(started)
        except BaseException:
            self.tended.finish()
            raise
        for name, work in {"acquire": self._acquire, "write": self._write}.items():
            thread = threading.Thread(target=self._guarded, args=(work,), name=f"happe-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def finish_soon(self) -> None:
        """Stop the instrument after its next reading. End the trace if the disk allows it soon."""
        self._stop.set()

    def wait(self) -> None:
        """Wait until all data is on the disk, or until only a recovery can write the rest."""
        for thread in self._threads:
            thread.join()
        self._open.lock.close()

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
    def rows(self) -> int:
        """How many rows were written, in all traces."""
        return sum(writer.rows for writer in self._writers)

    @property
    def lost(self) -> int:
        """How many indices have no row, in all traces. Those of zero checks do not count."""
        return sum(writer.lost for writer in self._writers)

    @property
    def trouble(self) -> str:
        """The present problem, for people; empty if there is none."""
        return next(filter(None, (self.tended.trouble, *(writer.trouble for writer in self._writers))), "")

    @property
    def failed(self) -> list[str]:
        """Why data was not written; the next recovery writes it."""
        return [reason for writer in self._writers for reason in writer.failed]

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
                self._hand_over(self.tended.read(READ_S), wait=self._patient)
        finally:
            self._stop.set()
            self._hand_over(self.tended.finish(), wait=True)
            self._queue.put(None)

    def _hand_over(self, reading: Reading, *, wait: bool) -> None:
        """Give a reading to the writer. A real instrument does not wait: samples without room become a gap."""
        items = (*self._dropped, *reading.items)
        if not items and reading.at is None:
            return
        try:
            self._queue.put(Reading(items, reading.at), block=wait)
            self._dropped = []
        except queue.Full:
            for item in reading.items:
                lost = Gap(*indices.span(item), Reason.STORAGE) if isinstance(item, Block) else item
                indices.add(self._dropped, lost)

    def _write(self) -> None:
        try:
            self._write_all()
        except BaseException:
            self._stop.set()
            while self._queue.get() is not None:  # so that nobody waits for room
                pass
            raise
        self._finish(self._writers[-1])
        for _ in range(LAST_TRIES):
            self._end_traces()
            if not self._unended:
                return
            time.sleep(RETRY_S)
        for writer in self._unended:
            writer.give_up()

    def _write_all(self) -> None:
        tended = time.monotonic()
        while True:
            with suppress(queue.Empty):
                reading = self._queue.get(timeout=SYNC_S)
                if reading is None:
                    return
                self._put(reading)
            if time.monotonic() - tended >= SYNC_S:
                self._writers[-1].tend()
                self._end_traces()
                tended = time.monotonic()

    def _put(self, reading: Reading) -> None:
        writer = self._writers[-1]
        writer.put(reading)
        self.recent = last_second((*self.recent, reading), self.tended.source.rate_hz)
        if reading.at is None:
            return
        self.reached = (self.rows, reading.at.monotonic_us)
        if writer.number >= self._limits.parts - 1 or writer.gaps >= self._limits.gaps:
            self._follow(reading.at)

    def _begin(self, started: TimePair) -> None:
        source, purpose = self.tended.source, self._purpose
        name = str(uuid.uuid4())
        header = header_of(source, purpose, name, started, self._clock)
        self._open = closing.create(Trace(self._study / name, header), self._beside)
        self.folders.append(self._open.trace.folder)
        self._writers.append(Writer(self._open, source.channels, self._has_room, self._behind))

    def _behind(self) -> bool:
        """Whether readings of a real instrument wait for the writer."""
        return not self._patient and self._queue.qsize() >= MOST_LATE

    def _has_room(self) -> bool:
        """Whether the disk has room for one more part. Raises OSError."""
        disk = shutil.disk_usage(self._study)
        return disk.free >= min(KEPT_FREE, disk.total // KEPT_SHARE)

    def _follow(self, at: TimePair) -> None:
        """End this trace and begin the next. Without disk space this trace continues, and a later call tries again."""
        writer = self._writers[-1]
        try:
            self._begin(at)
        except OSError:
            return
        self._finish(writer)
        self._end_traces()

    def _finish(self, writer: Writer) -> None:
        writer.finish()
        self._unended.append(writer)

    def _end_traces(self) -> None:
        """End the traces that are over, as far as the disk allows it."""
        self._unended = [writer for writer in self._unended if not writer.end()]
