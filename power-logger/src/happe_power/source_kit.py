# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks for tests of any source, HAPPE's own or yours. A source that breaks its contract raises BrokenError.

BrokenError is an AssertionError, so you need no test framework. docs/how-to/own-instrument.md has an example.
"""

import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happe_contract import schemas
from happe_contract.traces import Block, Gap, TimePair
from happe_power.recording.header import Purpose, boot_clock, header_of
from happe_power.recording.indices import span
from happe_power.recording.tending import Tended
from happe_power.sources import NAME
from happe_power.sources.clock import MICROS, VirtualClock
from happe_power.sources.source import EndedError, Reading, Source
from happe_power.sources.spec import Found, Kind, checked

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
            self.pairs.append(reading.at)


def take(source: Source, reads: int, timeout_s: float = 0.2, first_index: int = 0) -> Taken:
    """Start a source and read it `reads` times."""
    taken = Taken(source.start(first_index))
    require(taken.began.index == first_index, f"started at index {first_index}, it says {taken.began}")
    with suppress(EndedError):
        for _ in range(reads):
            taken.add(source.read(timeout_s))
    for block in taken.blocks:
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


def check_source(source: Source, reads: int = 50, timeout_s: float = 0.2) -> Taken:
    """Check a source that is not started: its indices join, its times fit its rate, and it can start again.

    Returns what the source gave after the first start.
    """
    taken = take(source, reads, timeout_s)
    header = header_of(source, Purpose("a-study"), str(uuid.uuid4()), taken.began, boot_clock())
    schemas.check(schemas.Kind.POWER_TRACE, header)
    names = [channel.name for channel in source.channels]
    require(len(set(names)) == len(names), f"the names of channels repeat: {names}")
    require(taken.rows, f"it gave no sample in {reads} readings")
    _check_times(taken, source.rate_hz)
    source.stop()
    source.stop()
    take(source, 2, timeout_s, first_index=taken.end_index + 7)
    source.stop()
    return taken


def _check_times(taken: Taken, rate_hz: float) -> None:
    """Check that times never go back, and that indices keep the nominal rate within 1 % and a quarter of a second."""
    pairs = [taken.began, *taken.pairs]
    times = [pair.monotonic_us for pair in pairs]
    require(times == sorted(times), "times go back")
    passed_s = (times[-1] - times[0]) / MICROS
    indices = pairs[-1].index - pairs[0].index
    allowed = rate_hz * (BATCH_S + RATE_WITHIN * passed_s) + 1
    require(abs(indices - passed_s * rate_hz) <= allowed, f"{indices} indices in {passed_s:.3f} s at {rate_hz:g} Hz")


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
