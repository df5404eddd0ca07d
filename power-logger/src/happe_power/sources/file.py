# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads another program's recording: CSV, with a column of times or indices or without."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from happe_contract.traces import Block, Gap, Measures, Reason, TimePair
from happe_power.sources.clock import MICROS, Clock
from happe_power.sources.indexer import Indexer
from happe_power.sources.source import EndedError, FinalError, Reading
from happe_power.sources.spec import (
    MEASURES,
    NAMES,
    OPTIONAL,
    Found,
    Kind,
    Option,
    Spec,
    channels_of,
    number,
)
from happe_power.sources.text import Bad, Shape, Table, tables

ROWS = 1 << 15  # that are read at once, if they have no more bytes than these
CHUNK = 1 << 21
LONGEST_LINE = 64 * 1024  # bytes; 16 channels need 400
LARGEST_INDEX = 2**53 - 1  # power-trace.schema.json, index
MISSED = 1.5  # periods: at this step between two times, a sample is missing between them
MOST_TOLD = 5  # unreadable rows
FARTHEST = 1000  # rows behind a late one that are examined
LEAST_BEHIND = 8
CLOCKS = 1e-3  # by which times and rows may disagree on the rate; COARSE allows for a coarse clock
COARSE = 0.5


Places = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Consecutive good rows of a file. `places` are their times in seconds or their indices; None without either.

    `line` is the line number of the first row.
    """

    places: Places | None
    values: Table
    line: int = 0


class File:
    """A source that gives a file's samples as fast as its reader takes them, and then raises EndedError.

    The wall clock translates the file's times to this boot's monotonic clock. If the file does not say when it began,
    it begins at the start of the reading.
    """

    kind = "file"
    serial: str | None = None
    patient = True  # it waits for the recorder

    def __init__(
        self, csv: "Csv", started: datetime | None, measures: tuple[Measures, ...], rate_hz: float, clock: Clock
    ) -> None:
        """`started` is the time of the first sample, if known; `rate_hz` is the nominal rate of the file's samples."""
        self.device = csv.name[-200:]
        self.channels = channels_of(measures, np.dtype(np.float64))
        self.rate_hz = rate_hz
        self._csv, self._started = csv, started
        self._clock = clock
        self._indexer = Indexer(rate_hz, clock)
        self._rows: Iterator[Rows | Bad] = iter(())
        self._ahead: Rows | Bad | None = None  # the chunk after the present one
        self._began = TimePair(0, 0, 0)
        self._last = -1.0  # the place of the last row by the file's own times or indices, in periods
        self._tied = 1  # rows up to now that have the last row's time
        self._first_place: float | None = None
        self._bad = 0  # unreadable rows since the last good one
        self._unreadable: list[str] = []
        self._untold = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """The first unreadable rows, and how many more there are."""
        more = (f"{self.device}: {self._untold} more rows cannot be read",) if self._untold else ()
        return (*self._unreadable, *more)

    def start(self, first_index: int) -> TimePair:
        """Begin the file. Raises FinalError if it began before this boot, whose clock has no such time."""
        now = self._clock.now()
        realtime = round(self._started.timestamp() * MICROS) if self._started else now.realtime_us
        monotonic = now.monotonic_us - now.realtime_us + realtime
        if monotonic < 0:
            raise FinalError(
                f"{self.device} began at {self._started}, before this machine started, so its clock has no such time;"
                ' started = "now" imports it as if it began now'
            )
        self._rows, self._first_place, self._bad = self._csv.read(), None, 0
        self._ahead = next(self._rows, None)
        self._indexer.begin(first_index)
        self._began = TimePair(first_index, monotonic, realtime)
        self._last, self._tied = first_index - 1.0, 1
        return self._began

    def read(self, timeout_s: float) -> Reading:  # noqa: ARG002 - a file is always there
        """Return the file's next chunk. Raises EndedError at its end."""
        rows, self._ahead = self._ahead, next(self._rows, None)
        if rows is None and self._bad:
            return Reading((self._lose_bad(),), self._time())
        if rows is None:
            raise EndedError(
                f"{self.device} is at its end, after {self._indexer.next_index - self._began.index} samples"
            )
        if isinstance(rows, Bad):
            return self._unread(rows)
        items = self._placed(rows, rows.places) if rows.places is not None else (self._indexer.block(rows.values),)
        return Reading(items, self._time())

    def stop(self) -> None:
        """Read no more."""
        self._rows, self._ahead = iter(()), None

    def _unread(self, bad: Bad) -> Reading:
        """Count a bad line. Without times or indices it is a lost sample; with them, these show what is missing."""
        if len(self._unreadable) < MOST_TOLD:
            self._unreadable.append(f"{self.device}:{bad.place}: {bad.said}")
        else:
            self._untold += 1
        self._bad += 1
        return Reading((self._lose_bad(),), self._time()) if self._csv.timed is None else Reading((), None)

    def _lose_bad(self) -> Gap:
        lost, self._bad = self._bad, 0
        return self._indexer.lose(lost, Reason.INVALID)

    def _placed(self, rows: Rows, places: Places) -> tuple[Block | Gap, ...]:
        """Turn rows into blocks, with a gap where times or indices jump. Raises FinalError if they go back.

        Only the step between two rows shows what is missing: the file's clock does not keep the nominal rate, and
        drifts away from the count of rows.
        """
        if self._first_place is None:
            self._first_place = float(places[0])
        indices = self._indices(places)
        steps = np.diff(indices, prepend=self._last)
        self._in_order(rows, indices, steps)
        missed = self._missed(steps)
        if self._csv.timed and not self._bad:
            missed = self._lasting(missed, indices)
        items: list[Block | Gap] = []
        for begin, end in itertools.pairwise(sorted({0, *missed, len(steps)})):
            if begin in missed:
                reason = Reason.INVALID if self._bad and begin == 0 else Reason.STALL
                items.append(self._indexer.lose(missed[begin], reason))
            items.append(self._indexer.block([column[begin:end] for column in rows.values]))
        self._last, self._bad = float(indices[-1]), 0
        return tuple(items)

    def _indices(self, places: Places) -> Places:
        """The places of rows, in periods since the trace's begin."""
        periods = self.rate_hz if self._csv.timed else 1.0
        found: Places = (places - (self._first_place or 0.0)) * periods + self._began.index
        return found

    def _lasting(self, missed: dict[int, int], indices: Places) -> dict[int, int]:
        """Reduce `missed` to lost samples: if later rows catch up, a time was only late."""
        if not missed:
            return missed
        more = self._ahead.places if isinstance(self._ahead, Rows) else None
        ahead = self._indices(np.empty(0) if more is None else more[:FARTHEST])
        times = np.concatenate([[self._last], indices, ahead])
        found = {row: lost(times, row + 1, missing) for row, missing in missed.items()}
        return {row: missing for row, missing in found.items() if missing}

    def _in_order(self, rows: Rows, indices: Places, steps: Places) -> None:
        """Check that times do not go back and that indices grow. Raises FinalError."""
        good = np.isfinite(indices) & ((steps >= 0) if self._csv.timed else (steps > 0)) & (indices < LARGEST_INDEX)
        if not good.all():
            place, line = "time" if self._csv.timed else "index", rows.line + int(np.argmin(good))
            raise FinalError(f"{self.device}:{line}: the {place} does not follow that of the row above")

    def _missed(self, steps: Places) -> dict[int, int]:
        """Find how many samples are missing before which row, from the steps between rows in periods.

        Rows with the same time (a tie) are successive samples. Either the clock is coarse, and they follow that time,
        or they were held up, and lead to it. So a step between two ties may be as long as the longer of both. A tie
        that the chunk's end cuts counts as the longest. Bad rows among ties show in no step, but are missing all the
        same.
        """
        if not steps[0]:
            self._tied += self._bad
        starts = np.flatnonzero(steps)
        ties = np.diff(starts, prepend=-self._tied, append=len(steps))
        self._tied = int(ties[-1])
        after = ties[1:].copy()
        after[-1:] = after.max(initial=1)
        due = np.maximum(ties[:-1], after)
        jumps = steps[starts] >= MISSED * due
        pairs = zip(starts[jumps].tolist(), due[jumps].tolist(), strict=True)
        missed = {row: round(float(steps[row])) - rows for row, rows in pairs}
        if self._bad and 0 not in missed and ties.max() > 1:
            missed[0] = self._bad
        return missed

    def _time(self) -> TimePair:
        """The next index and its time: a period for each row since the file's last time, or by the nominal rate."""
        reached = self._last + self._tied if self._csv.timed else self._indexer.next_index
        after = round((reached - self._began.index) * MICROS / self.rate_hz)
        return TimePair(self._indexer.next_index, self._began.monotonic_us + after, self._began.realtime_us + after)


def lost(times: Places, row: int, missing: int) -> int:
    """How many samples are missing before a row whose time suggests `missing`.

    `times` are in periods: of the row before, of this row (at index `row`), and of those behind it. If samples were
    lost, all later times are late as well. If only one time is late, the times behind it catch up with the rows.
    """
    behind = times[row : row + min(FARTHEST, LEAST_BEHIND + 2 * missing)]
    late = behind - times[row - 1] - np.arange(1, len(behind) + 1)
    least = float(late.min())
    if least >= missing - COARSE - CLOCKS * len(behind):
        return missing
    return max(round(least), 0)


class Csv:
    """A CSV file whose first line names its columns. The decimal sign is a point, the separator a comma.

    `timed`: places are seconds, or indices; None: there are none.
    """

    def __init__(self, path: Path, names: tuple[str, ...], place: str, *, timed: bool) -> None:
        """Take the columns `names`; `place` has times or indices. Raises FinalError, which lists the columns."""
        self.name = path.name
        self.timed = timed if place else None
        self._path = path
        with _opened(path) as file:
            head = file.readline(LONGEST_LINE)
        self._columns = [word.strip().strip('"') for word in head.decode("utf-8-sig", "replace").split(",")]
        wanted = [self._column(name) for name in names]
        column = self._column(place) if place else None
        taken = dict.fromkeys(wanted if column is None else (*wanted, column))
        self._shape = Shape(len(self._columns), tuple(taken), column if timed else None)
        self._wanted = [list(taken).index(each) for each in wanted]
        self._place = None if column is None else list(taken).index(column)

    def read(self) -> Iterator[Rows | Bad]:
        """Yield the whole file in order, in chunks. A bad row's place is its line. Raises FinalError."""
        line = 2
        with _opened(self._path) as file:
            file.readline(LONGEST_LINE)
            while lines := self._lines(file):
                yield from self._rows(b"".join(lines), line)
                line += len(lines)

    def _lines(self, file: BinaryIO) -> list[bytes]:
        """The next lines, as many as the memory may hold at once; none at the end."""
        lines: list[bytes] = []
        size = 0
        while len(lines) < ROWS and size < CHUNK and (line := file.readline(LONGEST_LINE)):
            if len(line) == LONGEST_LINE:
                raise FinalError(f"{self._path}: a line is longer than {LONGEST_LINE} bytes; is it a CSV file?")
            lines.append(line)
            size += len(line)
        return lines

    def _rows(self, text: bytes, line: int) -> Iterator[Rows | Bad]:
        for found in tables(text, self._shape):
            if not isinstance(found, Bad):
                places = None if self._place is None else found[self._place]
                yield Rows(places, tuple(found[column] for column in self._wanted), line)
                line += len(found[0])
                continue
            if found.said.strip():
                yield Bad(line, f"cannot be read as a row of {len(self._columns)} columns: {found.said!r}")
            line += 1

    def _column(self, name: str) -> int:
        if self._columns.count(name) != 1:
            there = ", ".join(self._columns)[:200]
            raise FinalError(f"{self._path}:1: there is not one column {name!r}; there are: {there}")
        return self._columns.index(name)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise FinalError(f"{path}: {error.strerror}") from None


def make(spec: Spec, clock: Clock) -> File:
    """Make a source of a file."""
    if not spec.place:
        raise spec.wrong("place", "which file?")
    path, names = Path(spec.place), tuple(spec.items("channels"))
    time, index = spec.text_of("time"), spec.text_of("index")
    if time and index:
        raise spec.wrong("index", "`time` or `index`, not both")
    csv = Csv(path, names, time or index, timed=bool(time))
    return File(csv, _instant(spec), spec.measures(len(names)), spec.number("rate"), clock)


def _instant(spec: Spec) -> datetime | None:
    text = spec.text_of("started")
    if text in (OPTIONAL, "now"):
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise spec.wrong("started", f"{text} is no instant; e.g. 2026-11-21T14:00:00Z, or now") from None
    if instant.tzinfo is None:
        raise spec.wrong("started", f"{text} has no time zone; e.g. {text}Z for UTC")
    return instant


def find() -> list[Found]:
    """Name the readable format. The user has to name the file."""
    return [Found("file", {"kind": "file"} | EXAMPLE, "reads CSV files")]


RATES = number(1e-3, 1e7)
EXAMPLE = {"place": "rig.csv", "channels": ["shunt_v", "supply_v"], "time": "seconds", "rate": 10000}
KIND = Kind(
    "file",
    "a recording of another program as CSV",
    "the file",
    EXAMPLE,
    (
        Option("channels", None, "the columns to take, in the order of `measures`", NAMES),
        MEASURES,
        Option("rate", 1000, "nominal samples of each channel a second", RATES),
        Option("time", OPTIONAL, "the column with the time: seconds, or ISO 8601"),
        Option("index", OPTIONAL, "the column with the sample's number"),
        Option("started", OPTIONAL, "when the first sample was taken, e.g. 2026-11-21T14:00:00Z; now: as it is read"),
    ),
    make,
    find,
)
