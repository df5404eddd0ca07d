# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording of another program: CSV with a column of times or indices, or LabVIEW's TDMS."""

from __future__ import annotations

import importlib.util
import itertools
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from happe_power.model import Block, Gap, Measures, Reason, TimePair
from happe_power.sources.clock import MICROS
from happe_power.sources.ledger import Ledger
from happe_power.sources.source import EndedError, Reading, SourceError
from happe_power.sources.spec import MEASURES, OPTIONAL, Found, Kind, Option, Spec, SpecError, channels_of
from happe_power.sources.text import LONGEST_LINE, Bad, Lines, LongLineError, Table, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_power.sources.clock import Clock

CHUNK = 1 << 20
SHORTEST_STEP_S, LONGEST_STEP_S = 1e-7, 1e3
LARGEST_INDEX = 2**53 - 1  # power-trace.schema.json, index
MISSED = 1.5  # periods between two times, from which on a sample is missing between them


Places = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Rows of a file without a bad one between them. `places` are times in seconds or indices, if it has either."""

    places: Places | None
    values: Table


class Recording(Protocol):
    """What File needs of a format."""

    started: datetime | None  # when its first sample was taken, if that is known
    timed: bool | None  # places are seconds, or indices; None: there are none

    def read(self) -> Iterator[Rows | Bad]:
        """All of it, in order, in chunks. SourceError."""


class File:
    """A source that gives a file as fast as it is read, and then EndedError.

    Times are those of the file, laid on this boot's clock by the wall clock. A file that does not tell when it was
    begun begins when it is read.
    """

    kind = "file"
    serial: str | None = None
    patient = True  # it waits for whoever stores it

    def __init__(
        self, recording: Recording, name: str, measures: tuple[Measures, ...], rate_hz: float, clock: Clock
    ) -> None:
        """`name` is told as the device; `rate_hz` is the nominal rate of the file's samples."""
        count = len(measures)
        self.device = name[-200:]
        self.channels = channels_of(measures, np.dtype(np.float64), [1.0] * count, [0.0] * count)
        self.rate_hz = rate_hz
        self._recording = recording
        self._clock = clock
        self._ledger = Ledger(rate_hz, clock)
        self._rows: Iterator[Rows | Bad] = iter(())
        self._began = TimePair(0, 0, 0)
        self._last = -1.0  # where the last row was by the file's own times or indices, in periods
        self._first_place: float | None = None
        self._had_bad = False

    def start(self, first_index: int) -> TimePair:
        """From the beginning of the file. SourceError if it is older than this boot, whose clock has no time for it."""
        now = self._clock.now()
        started = self._recording.started
        realtime = round(started.timestamp() * MICROS) if started else now.realtime_us
        monotonic = now.monotonic_us - now.realtime_us + realtime
        if monotonic < 0:
            raise SourceError(
                f"{self.device} was begun at {started}, before this machine was started: its clock has no time for"
                " that; with started=now it is imported as if it began now"
            )
        self._rows, self._first_place, self._had_bad = self._recording.read(), None, False
        self._ledger.begin(first_index)
        self._began = TimePair(first_index, monotonic, realtime)
        self._last = first_index - 1.0
        return self._began

    def read(self, timeout_s: float) -> Reading:  # noqa: ARG002 - a file is always there
        """The file's next chunk."""
        rows = next(self._rows, None)
        if rows is None:
            raise EndedError(
                f"{self.device} is at its end, after {self._ledger.next_index - self._began.index} samples"
            )
        if isinstance(rows, Bad):
            return self._bad()
        items = (
            self._placed(rows.places, rows.values) if rows.places is not None else (self._ledger.block(rows.values),)
        )
        return Reading(items, self._time())

    def stop(self) -> None:
        """Read no more."""
        self._rows = iter(())

    def _bad(self) -> Reading:
        """A bad line is a lost sample; but where there are times or indices, these tell what was lost."""
        self._had_bad = True
        if self._recording.timed is None:
            return Reading((self._ledger.lose(1, Reason.INVALID),), self._time())
        return Reading((), None)

    def _placed(self, places: Places, values: Table) -> tuple[Block | Gap, ...]:
        """Rows as blocks; where times or indices jump there is a gap. SourceError if they don't go up.

        Only the step between two rows tells what is missing: the file's clock is none of the nominal rate, and goes
        away from the rows' count by and by.
        """
        if self._first_place is None:
            self._first_place = float(places[0])
        periods = self.rate_hz if self._recording.timed else 1.0
        indices = (places - self._first_place) * periods + self._began.index
        steps = np.diff(indices, prepend=self._last)
        if not (np.isfinite(indices).all() and (steps > 0).all() and indices[-1] < LARGEST_INDEX):
            raise SourceError(f"{self.device}: times or indices do not go up after sample {self._ledger.next_index}")
        items: list[Block | Gap] = []
        cuts = sorted({0, *(int(cut) for cut in np.flatnonzero(steps >= MISSED)), len(indices)})
        for begin, end in itertools.pairwise(cuts):
            if steps[begin] >= MISSED:
                missed = round(float(steps[begin])) - 1
                items.append(self._ledger.lose(missed, Reason.INVALID if self._had_bad else Reason.STALL))
            items.append(self._ledger.block([column[begin:end] for column in values]))
            self._had_bad = False
        self._last = float(indices[-1])
        return tuple(items)

    def _time(self) -> TimePair:
        """Of the next index: a period after the file's last time, or by the nominal rate if it has no times."""
        reached = self._last + 1 if self._recording.timed else self._ledger.next_index
        after = round((reached - self._began.index) * MICROS / self.rate_hz)
        return TimePair(self._ledger.next_index, self._began.monotonic_us + after, self._began.realtime_us + after)


class Csv:
    """A CSV file whose first line names its columns. A point is the decimal sign, a comma parts the columns."""

    def __init__(self, path: Path, names: tuple[str, ...], place: str | None, *, timed: bool) -> None:
        """`names` are the columns to take, `place` that of times or indices. SourceError says which are there."""
        self.started: datetime | None = None
        self.timed = timed if place else None
        self._path = path
        with _opened(path) as file:
            head = file.readline(LONGEST_LINE)
        self._columns = [word.strip().strip('"') for word in head.decode("utf-8-sig", "replace").split(",")]
        self._wanted = [self._column(name) for name in names]
        self._place = self._column(place) if place else None

    def read(self) -> Iterator[Rows | Bad]:
        """Chunks of a megabyte."""
        lines = Lines()
        with _opened(self._path) as file:
            file.readline(LONGEST_LINE)
            try:
                while data := file.read(CHUNK):
                    yield from self._rows(lines.take(data))
            except LongLineError as error:
                raise SourceError(f"{self._path}: {error}; is it a CSV file?") from None
        yield from self._rows(lines.last())

    def _rows(self, text: bytes) -> Iterator[Rows | Bad]:
        for found in tables(text, len(self._columns)):
            if isinstance(found, Bad):
                yield found
            else:
                places = None if self._place is None else found[self._place]
                yield Rows(places, tuple(found[column] for column in self._wanted))

    def _column(self, name: str) -> int:
        if self._columns.count(name) != 1:
            there = ", ".join(self._columns)[:200]
            raise SourceError(f"{self._path}:1: there is not one column {name!r}; there are: {there}")
        return self._columns.index(name)


class Tdms:
    """LabVIEW's format, by npTDMS. Channels are GROUP/CHANNEL; times are its waveforms', which have no gap."""

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        """SourceError says which channels are there, or what to install."""
        try:
            from nptdms import TdmsFile  # noqa: PLC0415 - an optional extra
        except ImportError:
            raise SourceError("reading TDMS needs npTDMS; `pip install happe-power-logger[tdms]`") from None
        with _opened(path) as file:
            try:
                read = TdmsFile.read(file)
            except Exception as error:  # noqa: BLE001 - a hostile file ends in any exception of numpy or struct
                raise SourceError(f"{path} is no TDMS file that can be read: {error}"[:300]) from None
        known = {f"{group.name}/{one.name}": one for group in read.groups() for one in group.channels()}
        for name in names:
            if name not in known:
                raise SourceError(f"{path}: there is no channel {name!r}; there are: {', '.join(known)[:200]}")
        channels = [known[name] for name in names]
        self.timed: bool | None = None
        self.started = _started(channels[0].properties.get("wf_start_time"))
        self.step_s = channels[0].properties.get("wf_increment")
        self._values = tuple(_numbers(path, name, known[name][:]) for name in names)
        if len({len(values) for values in self._values}) != 1:
            raise SourceError(f"{path}: the channels {', '.join(names)} are of different lengths")

    def read(self) -> Iterator[Rows | Bad]:
        """Chunks."""
        for begin in range(0, len(self._values[0]), CHUNK // 8):
            yield Rows(None, tuple(values[begin : begin + CHUNK // 8] for values in self._values))


def _numbers(path: Path, name: str, values: object) -> Places:
    try:
        return np.asarray(values).astype(np.float64)
    except (TypeError, ValueError):
        raise SourceError(f"{path}: channel {name!r} has no numbers") from None


def _started(time: object) -> datetime | None:
    """TDMS's start of a waveform, which is UTC."""
    if isinstance(time, np.datetime64):
        return datetime.fromtimestamp(int(time.astype("datetime64[us]").astype(np.int64)) / MICROS, UTC)
    return None


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from None


def make(spec: Spec, clock: Clock) -> File:
    """file:rig.csv,channels=shunt_v+supply_v,time=seconds,rate=10000."""
    if not spec.place:
        raise SpecError(f"{spec.text}: which file? e.g. {KIND.example}")
    path, names = Path(spec.place), spec.names("channels")
    time, index = spec.text_of("time"), spec.text_of("index")
    if time and index:
        raise SpecError(f"{spec.text}: time= or index=, not both")
    recording: Csv | Tdms
    if path.suffix.lower() == ".tdms":
        recording = Tdms(path, names)
        rate = spec.number("rate", 1e-3, 1e7) if "rate" in spec.given else _rate(spec, recording)
    else:
        recording = Csv(path, names, time or index or None, timed=bool(time))
        rate = spec.number("rate", 1e-3, 1e7)
    recording.started = _instant(spec, recording.started)
    return File(recording, path.name, spec.measures(len(names)), rate, clock)


def _rate(spec: Spec, recording: Tdms) -> float:
    """What the waveform says."""
    step = recording.step_s
    if not isinstance(step, float) or not SHORTEST_STEP_S <= step <= LONGEST_STEP_S:
        raise SpecError(f"{spec.text}: the file does not say at what rate it was sampled; say rate=")
    return 1 / step


def _instant(spec: Spec, told: datetime | None) -> datetime | None:
    text = spec.text_of("started")
    if text in (OPTIONAL, "now"):
        return told if text == OPTIONAL else None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise SpecError(
            f"{spec.text}: started={text} is no instant; e.g. started=2026-11-21T14:00:00Z, or now"
        ) from None
    if instant.tzinfo is None:
        raise SpecError(f"{spec.text}: started={text} has no time zone; e.g. started={text}Z for UTC")
    return instant


def find() -> list[Found]:
    """Files have to be named."""
    says = "CSV is read; TDMS too" if importlib.util.find_spec("nptdms") else "CSV is read"
    command = None if importlib.util.find_spec("nptdms") else "pip install happe-power-logger[tdms]"
    return [Found("file", KIND.example, says, command)]


KIND = Kind(
    "file",
    "a recording of another program: CSV, or TDMS",
    "FILE",
    "file:rig.csv,channels=shunt_v+supply_v,time=seconds,rate=10000",
    (
        Option("channels", None, "the columns to take (TDMS: GROUP/CHANNEL), in the order of `measures`"),
        MEASURES,
        Option("rate", "1000", "samples of each channel a second, nominally; TDMS tells it"),
        Option("time", OPTIONAL, "the column with the time in seconds"),
        Option("index", OPTIONAL, "the column with the sample's number"),
        Option("started", OPTIONAL, "when the first sample was taken, e.g. 2026-11-21T14:00:00Z; now: as it is read"),
    ),
    make,
    find,
)
