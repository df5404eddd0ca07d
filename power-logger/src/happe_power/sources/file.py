# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads another program's recording: text in columns, with a column of times or indices or without.

What the source's table does not say, `guess` finds. Before the first sample the source reads the whole file once, and
refuses what cannot be.
"""

import itertools
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from numpy.typing import NDArray

from happe_contract.strict_json import Json
from happe_contract.traces import Block, Gap, Measures, Reason, TimePair
from happe_power.recording.guard import HOLD_S, guarded
from happe_power.sources.clock import MICROS, Clock
from happe_power.sources.columns import Csv, Rows, opened
from happe_power.sources.guess import EPOCHS, SCALES, TIME_SCALES, GuessError, encoding_of, settled
from happe_power.sources.indexer import Indexer
from happe_power.sources.instants import DATES
from happe_power.sources.source import EndedError, FinalError, Reading
from happe_power.sources.spec import (
    MEASURES,
    NAMES,
    OPTIONAL,
    UNITS,
    Found,
    Kind,
    Option,
    Spec,
    channels_of,
    list_of,
    number,
)
from happe_power.sources.text import Bad

SAMPLE = 1 << 17  # bytes from which to guess
LARGEST_INDEX = 2**53 - 1  # power-trace.schema.json, index
MISSED = 1.5  # periods: at this step between two times, a sample is missing between them
MOST_TOLD = 5  # unreadable rows
FARTHEST = 1000  # rows behind a late one that are examined
LEAST_BEHIND = 8
CLOCKS = 1e-3  # by which times and rows may disagree on the rate; COARSE allows for a coarse clock
COARSE = 0.5
FEW = 100  # samples, which may be missing although the file has fewer
OTHER_STEPS = 10.0  # times the period: such steps are not those of the stated rate
SUMMER = ': does summer time begin or end? give zone = "Europe/Berlin", or whatever zone the times have, also "UTC"'
HOUR_S = 3500.0  # a little less: so far clocks go back at the end of summer time
MOST = {"shunt": 10.0, "supply": 100.0, "current": 100.0, "power": 1000.0}  # means above are of another unit

Places = NDArray[np.float64]


@dataclass
class Survey:
    """What a whole file has: usable rows, lost samples by reason, and in its unit each channel's extremes and sum.

    `began_us`: microseconds since 1970, if the file says it.
    """

    channels: int
    rows: int = 0
    lost: Counter[str] = field(default_factory=Counter)
    began_us: int | None = None
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Begin with nothing."""
        self.lows, self.highs = np.full(self.channels, np.inf), np.full(self.channels, -np.inf)
        self.sums = np.zeros(self.channels)

    def add(self, values: NDArray[np.float64]) -> None:
        """Take rows: an array of each channel's values."""
        self.rows += values.shape[1]
        self.lows, self.highs = np.minimum(self.lows, values.min(axis=1)), np.maximum(self.highs, values.max(axis=1))
        self.sums += values.sum(axis=1)


class File:
    """A source that gives a file's samples as fast as its reader takes them, and then raises EndedError.

    The wall clock translates the file's times to this boot's monotonic clock. If the file does not say when it began,
    it ends at the start of the reading.
    """

    kind = "file"
    serial: str | None = None
    patient = True  # it waits for the recorder
    clock: str | None = None  # the name of the times' clock, if that is not this boot's

    def __init__(self, csv: Csv, table: Json, clock: Clock) -> None:
        """`table` has every option. Its `started`: "now", or the time of the first sample; else the file says it."""
        self.device = csv.name[-200:]
        scales = [SCALES[unit][0] for unit in table["units"]]
        most = [size / scale for size, scale in zip(table["range"], scales, strict=True)]
        ends = [(-size, size) if np.isfinite(size) else (None, None) for size in most]
        measures = tuple(map(Measures, table["measures"]))
        self.channels = channels_of(measures, np.dtype(np.float64), scales, ends=ends)
        self.rate_hz = float(table["rate"])
        self.table = table
        self._csv = csv
        self._clock = clock
        self._indexer = Indexer(self.rate_hz, clock)
        self._rows: Iterator[Rows | Bad] = iter(())
        self._ahead: Rows | Bad | None = None  # the chunk after the present one
        self._began = TimePair(0, 0, 0)
        self._last = -1.0  # the place of the last row by the file's own times or indices, in periods
        self._tied = 1  # rows up to now that have the last row's time
        self._first_place: float | None = None
        self._jump = (0, 0)  # the longest: its samples, and the line behind it
        self._bad = 0  # unreadable rows since the last good one
        self._unreadable: list[str] = []
        self._untold = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """The first unreadable rows, and how many more there are."""
        more = (f"{self.device}: {self._untold} more rows cannot be read",) if self._untold else ()
        return (*self._unreadable, *more)

    @property
    def zoneless(self) -> bool:
        """Whether the file has times of a day without a zone, which count as UTC."""
        return self._csv.zoneless

    @cached_property
    def survey(self) -> Survey:
        """Read the whole file once. Raises FinalError if something in it cannot be."""
        found = Survey(len(self.channels))
        self._open(TimePair(0, 0, 0))
        while True:
            try:
                reading = self.read(0.0)
            except EndedError:
                break
            hold = round(self.rate_hz * HOLD_S)
            for item in reading.items:
                for piece in guarded(item, self.channels, hold) if isinstance(item, Block) else [item]:
                    if isinstance(piece, Gap):
                        found.lost[piece.reason.value] += piece.to_index - piece.from_index
                    else:
                        found.add(np.array(piece.columns) * [[channel.scale] for channel in self.channels])
        found.seconds = self._time().monotonic_us / MICROS
        if self._csv.dated and self._first_place is not None:
            found.began_us = round(self._first_place * MICROS)
        self._possible(found)
        return found

    def start(self, first_index: int) -> TimePair:
        """Begin the file. Raises FinalError if something in it cannot be."""
        now, length_us = self._clock.now(), round(self.survey.seconds * MICROS)
        began_us = _instant(self.table["started"]) if "started" in self.table else self.survey.began_us
        realtime = now.realtime_us - length_us if began_us is None else began_us
        if realtime + length_us > now.realtime_us:
            raise FinalError(
                f"{self.device}: ends at {shown(realtime + length_us)}, and this machine's clock has "
                f'{shown(now.realtime_us)}: check its dates, zone and epoch; started = "now" lets the file end now'
            )
        monotonic = now.monotonic_us - now.realtime_us + realtime
        if monotonic < 0:  # before this boot
            self.clock, monotonic = f"monotonic:{uuid.uuid4()}", realtime
        return self._open(TimePair(first_index, monotonic, realtime))

    def _open(self, began: TimePair) -> TimePair:
        """Begin at the first row, whose index and time these are."""
        self._rows, self._first_place, self._bad = self._csv.read(), None, 0
        self._ahead = next(self._rows, None)
        self._indexer.begin(began.index)
        self._began = began
        self._last, self._tied, self._jump = began.index - 1.0, 1, (0, 0)
        self._unreadable, self._untold = [], 0
        return began

    def _possible(self, found: Survey) -> None:
        """Refuse what cannot be. Raises FinalError."""
        samples, line = self._jump
        says = f"{self.device}:{line}: the {'times jump' if self._csv.timed else 'indices jump'}"
        too_many, jump_s = found.lost[Reason.STALL] > max(found.rows, FEW), samples / self.rate_hz
        if self._csv.zoneless and jump_s >= HOUR_S and (jump_s < 1.1 * HOUR_S or not too_many):
            raise FinalError(f"{says} by {jump_s:.6g} s{SUMMER}")
        if too_many:
            raise FinalError(
                f"{says} by {samples:,} samples, more than the file has: check rate ({self.rate_hz:g}) and "
                f"time_unit ({self.table.get('time_unit', 's')}), or import what is before and what is after alone"
            )
        for channel, name, total in zip(self.channels, self.table["channels"], found.sums, strict=True):
            if found.rows and abs(total / found.rows) > MOST.get(channel.measures, np.inf):
                raise FinalError(
                    f"{self.device}:{self._csv.header}: the mean of column {name!r} is {total / found.rows:,.6g} "
                    f'{channel.unit}: state its unit, as units = ["m{channel.unit}"], or what it measures'
                )

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
                self._jump = max(self._jump, (missed[begin], rows.line + begin))
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
            row = int(np.argmin(good))
            place, line = "time" if self._csv.timed else "index", rows.line + row
            if self._csv.zoneless and -1.1 * HOUR_S < steps[row] / self.rate_hz < -HOUR_S / 2:
                raise FinalError(f"{self.device}:{line}: the time goes back by an hour or less{SUMMER}")
            cut = f"take another column as {place}, or import what is before and what is after alone"
            raise FinalError(f"{self.device}:{line}: the {place} does not follow that of the row above: {cut}")
        if self._csv.timed and len(steps) > MOST_TOLD and steps[1:].all():
            usual = float(np.median(steps[1:]))
            if not 1 / OTHER_STEPS < usual < OTHER_STEPS:
                raise FinalError(
                    f"{self.device}:{rows.line}: the times step by {usual / self.rate_hz:.6g} s, but rate = "
                    f"{self.rate_hz:g} means {1 / self.rate_hz:.6g} s: state time_unit (s, ms, us, ns) or another rate"
                )

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


def make(spec: Spec, clock: Clock) -> File:
    """Make a source of a file. Raises SpecError, FinalError."""
    if not spec.place:
        raise spec.wrong("place", "which file?")
    path = Path(spec.place)
    given = {name: spec.values[name] for name in OWN if name in spec.given}
    if "time" in given and "index" in given:
        raise spec.wrong("index", "`time` or `index`, not both")
    try:
        ZoneInfo(given.get("zone", "UTC"))
        _instant(given.get("started", "now"))
    except ZoneInfoNotFoundError:
        raise spec.wrong("zone", f"{given['zone']!r} is no zone; e.g. Europe/Berlin") from None
    except ValueError as error:
        raise spec.wrong("started", str(error)) from None
    table = _settled(spec, path, given)
    count = len(table["channels"])
    table["range"] = spec.numbers("range", count) if "range" in given else (np.inf,) * count
    if len(table["units"]) != count:
        raise spec.wrong("units", f"{len(table['units'])} units for {count} channels")
    for unit, measures in zip(table["units"], table["measures"], strict=True):
        if SCALES[unit][1] != UNITS[Measures(measures)]:
            raise spec.wrong(
                "units", f"{measures} has the unit {UNITS[Measures(measures)]}, not {unit}; check `measures`"
            )
    return File(Csv(path, table), table, clock)


def _settled(spec: Spec, path: Path, given: Json) -> Json:
    """Every option. Raises SpecError, FinalError."""
    with opened(path, "utf-8") as file:
        sample = file.read(SAMPLE)
    encoding = given.get("encoding") or encoding_of(sample)
    try:
        lines = [line.rstrip("\r") for line in sample.decode(encoding, "replace").split("\n")]
        return {"encoding": encoding} | settled(lines[:-1] if len(sample) == SAMPLE and lines[1:] else lines, given)
    except LookupError:
        raise spec.wrong("encoding", f"{encoding!r} is no encoding; e.g. utf-8, cp1252, utf-16") from None
    except GuessError as error:
        if error.option:
            raise spec.wrong(error.option, f"{path}:{error.line}: {error}") from None
        raise FinalError(f"{path}:{error.line}: {error}") from None


def _instant(text: str) -> int | None:
    """Microseconds since 1970 of an instant; None for `now`. Raises ValueError."""
    if text == "now":
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text} is no instant; e.g. 2026-11-21T14:00:00Z, or now") from None
    if instant.tzinfo is None:
        raise ValueError(f"{text} has no time zone; e.g. {text}Z for UTC")
    return round(instant.timestamp() * MICROS)


def shown(us: int) -> str:
    """A time in microseconds since 1970 for people."""
    return f"{datetime.fromtimestamp(us // MICROS, UTC):%Y-%m-%d %H:%M:%S} UTC"


def find() -> list[Found]:
    """Name the readable format. The user has to name the file."""
    return [
        Found("file", {"kind": "file"} | EXAMPLE, "reads text in columns; `happe-power import FILE` guesses the rest")
    ]


RATES = number(1e-3, 1e7)
LINE = number(0, 1000, whole=True)
EXAMPLE = {"place": "rig.csv"}
KIND = Kind(
    "file",
    "a recording of another program as text in columns; what the table does not say is guessed",
    "the file",
    EXAMPLE,
    (
        Option("channels", OPTIONAL, "the columns to take, in the order of `measures`", NAMES),
        Option("measures", OPTIONAL, MEASURES.says, MEASURES.schema),
        Option("units", OPTIONAL, "a list of the unit of each channel", list_of({"enum": list(SCALES)})),
        Option(
            "range", OPTIONAL, "a list of the largest value of each channel, in V, A, W or J", list_of(number(1e-9))
        ),
        Option("rate", OPTIONAL, "nominal samples of each channel a second", RATES),
        Option("time", OPTIONAL, "the column with the time: numbers, or dates with times"),
        Option("date", OPTIONAL, "the column with the day, if `time` has only the time of the day"),
        Option("dates", OPTIONAL, "the order of day, month and year", {"enum": list(DATES)}),
        Option("time_unit", OPTIONAL, "the unit of times that are numbers", {"enum": list(TIME_SCALES)}),
        Option("epoch", OPTIONAL, "the year from which times that are numbers count", {"enum": list(EPOCHS)}),
        Option("zone", OPTIONAL, "the zone of times that name none, e.g. Europe/Berlin; UTC without it"),
        Option("index", OPTIONAL, "the column with the sample's number"),
        Option(
            "started", OPTIONAL, "when the first sample was taken, e.g. 2026-11-21T14:00:00Z; now: the file ends now"
        ),
        Option("encoding", OPTIONAL, "the encoding, as Python names it: utf-8, cp1252, utf-16"),
        Option(
            "delimiter", OPTIONAL, "the character between columns", {"type": "string", "minLength": 1, "maxLength": 1}
        ),
        Option("decimal", OPTIONAL, "the decimal mark", {"enum": [".", ","]}),
        Option("quote", OPTIONAL, "the quotation mark around values", {"enum": ['"', "'"]}),
        Option("header", OPTIONAL, "the line with the columns' names; 0: none, they are 1, 2, ...", LINE),
        Option("first", OPTIONAL, "the line of the first row", number(1, 1000, whole=True)),
    ),
    make,
    find,
)
OWN = [option.name for option in KIND.options]
