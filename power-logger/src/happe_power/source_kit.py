# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks for tests of any source, HAPPE's own or yours. A source that breaks its contract raises BrokenError.

BrokenError is an AssertionError, so you need no test framework. docs/how-to/own-instrument.md has an example.
"""

import itertools
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happe_contract import schemas
from happe_contract.traces import Block, Gap, TimePair
from happe_power.recording.header import Purpose, boot_clock, header_of
from happe_power.recording.indices import span
from happe_power.recording.recorder import Recorder
from happe_power.recording.tending import Tended
from happe_power.sources import NAME
from happe_power.sources.clock import MICROS, Clock, VirtualClock
from happe_power.sources.source import EndedError, Reading, Source
from happe_power.sources.spec import Found, Kind, checked
from happe_power.trace import Trace

BATCH_S = 0.25  # how much a driver may hold back
RATE_WITHIN = 0.01


class BrokenError(AssertionError):
    """A source breaks a promise of happe_power.sources.source; the message says which."""


def require(holds: object, says: str) -> None:
    """Raise BrokenError unless `holds`."""
    if not holds:
        raise BrokenError(says)


@dataclass
class Taken:
    """The samples, gaps and times that a source gave."""

    began: TimePair
    clock: Clock | None = None
    period_us: float = 0.0  # after the last sample the next index begins
    items: list[Block | Gap] = field(default_factory=list)
    pairs: list[TimePair] = field(default_factory=list)

    @property
    def blocks(self) -> list[Block]:
        """The blocks of samples."""
        return [item for item in self.items if isinstance(item, Block)]

    @property
    def gaps(self) -> list[Gap]:
        """The gaps."""
        return [item for item in self.items if isinstance(item, Gap)]

    @property
    def rows(self) -> int:
        """The number of samples of each channel."""
        return sum(block.rows for block in self.blocks)

    @property
    def end_index(self) -> int:
        """One past the last index."""
        return span(self.items[-1])[1] if self.items else self.began.index

    def indices(self) -> NDArray[np.int64]:
        """The index of each row."""
        return np.concatenate([np.arange(block.first_index, block.end_index) for block in self.blocks])

    def column(self, channel: int) -> NDArray[Any]:
        """All rows of a channel."""
        return np.concatenate([block.columns[channel] for block in self.blocks])

    def add(self, reading: Reading) -> None:
        """Check that a reading continues the earlier ones, and keep it."""
        for item in reading.items:
            first, end = span(item)
            require(first == self.end_index, f"{item} comes after index {self.end_index}")
            require(end > first, f"{item} has no index")
            if isinstance(item, Block):
                lengths = {len(column) for column in item.columns}
                require(lengths == {item.rows}, f"the columns of a block have {lengths} rows")
            self.items.append(item)
        if reading.at:
            require(
                reading.at.index == self.end_index, f"{reading.at} is not the time of the next index {self.end_index}"
            )
            if self.clock:
                latest = self.clock.now().monotonic_us + self.period_us
                require(reading.at.monotonic_us <= latest, f"{reading.at} lies in the future, after {latest}")
            self.pairs.append(reading.at)


def take(source: Source, reads: int, timeout_s: float = 0.2, first_index: int = 0, clock: Clock | None = None) -> Taken:
    """Start a source and read it `reads` times. By `clock`, no time may lie in the future."""
    taken = Taken(source.start(first_index), clock, MICROS / source.rate_hz)
    require(taken.began.index == first_index, f"started at index {first_index}, it says {taken.began}")
    copies: list[NDArray[Any]] = []
    with suppress(EndedError):
        for _ in range(reads):
            taken.add(source.read(timeout_s))
            copies += [column.copy() for block in taken.blocks[len(copies) :] for column in block.columns[:1]]
    for block, copy in zip(taken.blocks, copies, strict=True):
        require(np.array_equal(block.columns[0], copy, equal_nan=True), "values change after the source gave them")
        for column, channel in zip(block.columns, source.channels, strict=True):
            require(
                column.dtype == channel.dtype, f"channel {channel.name} is {channel.dtype}, its column {column.dtype}"
            )
    return taken


def check_kind(kind: Kind) -> None:
    """Check a kind: its name, its example, the help on its options, and its search for instruments."""
    require(NAME.fullmatch(kind.name), f"{kind.name!r}: a name has small letters, digits and _")
    spec = checked({"kind": kind.name} | kind.example, {kind.name: kind})
    for option in kind.options:
        require(option.default is None or option.name in spec.values, f"{option.name} has lost its default")
        require(option.says and option.says in kind.help(), f"the help does not explain {option.name}")
    for found in kind.find():
        require(
            isinstance(found, Found) and found.kind == kind.name and found.says, f"{found} does not describe this kind"
        )
        if found.table:
            checked(found.table, {kind.name: kind})


def check_source(source: Source, clock: Clock, reads: int = 50, timeout_s: float = 0.2) -> Taken:
    """Check a source that is not started, and that dates its samples by `clock`.

    Its indices join and fit its times; no time lies more than a period in the future, goes back or jumps; it can start
    again; and a recording of it ends with the numbers of its trace. Returns what it gave after the first start.
    """
    taken = take(source, reads, timeout_s, clock=clock)
    header = header_of(source, Purpose("a-study"), str(uuid.uuid4()), taken.began, boot_clock())
    schemas.check(schemas.Kind.POWER_TRACE, header)
    names = [channel.name for channel in source.channels]
    require(len(set(names)) == len(names), f"the names of channels repeat: {names}")
    require(taken.rows, f"it gave no sample in {reads} readings")
    _check_times(taken, source.rate_hz)
    source.stop()
    source.stop()
    take(source, 2, timeout_s, first_index=taken.end_index + 7, clock=clock)
    source.stop()
    _check_recording(source, clock, reads)
    return taken


def _check_times(taken: Taken, rate_hz: float) -> None:
    """Check that times never go back, and that from each to the next, and over all, they pass as the indices do.

    1 % and a quarter of a second are allowed. Both clocks must agree on what passed.
    """
    pairs = [taken.began, *taken.pairs]
    for before, after in [*itertools.pairwise(pairs), (pairs[0], pairs[-1])]:
        passed_s = (after.monotonic_us - before.monotonic_us) / MICROS
        require(passed_s >= 0, f"times go back: {after} comes after {before}")
        indices = after.index - before.index
        allowed = rate_hz * (BATCH_S + RATE_WITHIN * passed_s) + 1
        says = (
            f"{indices} indices in {passed_s:.3f} s at {rate_hz:g} Hz: a gap must have the indices of the time it took"
        )
        require(abs(indices - passed_s * rate_hz) <= allowed, says)
        wall_s = (after.realtime_us - before.realtime_us) / MICROS
        require(abs(wall_s - passed_s) <= BATCH_S, f"{wall_s:.3f} s by the wall clock are {passed_s:.3f} s")


class _Ending(Tended):
    """A source that ends after some readings."""

    def __init__(self, source: Source, clock: Clock, reads: int) -> None:
        super().__init__(source, clock)
        self._left = reads

    def read(self, timeout_s: float) -> Reading:
        self._left -= 1
        self.ended = self._left < 0
        return Reading((), None) if self.ended else super().read(timeout_s)


def _check_recording(source: Source, clock: Clock, reads: int) -> None:
    """Check that a recording ends with the numbers of its trace, and that these are all indices."""
    ending = _Ending(source, clock, reads)
    with TemporaryDirectory() as folder:
        recorder = Recorder(ending, Path(folder) / "a-study", Purpose("a-study"))
        recorder.start()
        recorder.wait()
        require(not recorder.errors, f"its recording ends with {recorder.errors}")
        trace = Trace.open(recorder.folders[-1])
        rows = sum(block.rows for block in trace.blocks())
        lost = sum(gap.to_index - gap.from_index for gap in trace.gaps)
    require((rows, lost) == (recorder.rows, recorder.lost), f"a trace of {rows} rows, {lost} lost")
    require(rows + lost == ending.next_index, f"{rows} rows and {lost} lost are not {ending.next_index} indices")


def tended(
    source: Source, clock: VirtualClock, seconds: float, each: Callable[[float], object], timeout_s: float = 0.2
) -> Taken:
    """Read a source for `seconds` of `clock` as the recorder does: a failure becomes a gap, and the source restarts.

    `each` gets the seconds passed before each reading; a test can break and repair the instrument there.
    """
    began = clock.now().monotonic_us
    reader = Tended(source, clock)
    taken = Taken(reader.start(0))
    while (passed_s := (clock.now().monotonic_us - began) / MICROS) < seconds:
        each(passed_s)
        taken.add(reader.read(timeout_s))
    taken.add(reader.finish())
    return taken
