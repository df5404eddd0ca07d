# SPDX-License-Identifier: GPL-2.0-or-later
"""Instruments that give the readings of a test, and traces recorded from them."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from happe_contract.traces import Block, Channel, Gap, Measures, TimePair
from happe_power.recording.header import Purpose
from happe_power.recording.recorder import Recorder
from happe_power.recording.tending import Tended
from happe_power.sources.source import Reading

INT16 = np.dtype(np.int16)
SHUNT = Channel("shunt", Measures.SHUNT, "V", INT16, 1e-5, 0.0, -32768, 32767)
SUPPLY = Channel("supply", Measures.SUPPLY, "V", INT16, 3e-4, 0.0, -32768, 32767)
MONOTONIC_US, REALTIME_US = 5_000_000_000, 1_793_440_000_000_000


def pair_at(index: int, rate_hz: float) -> TimePair:
    """Return the time of an index by a perfect clock."""
    passed = int(index * 1e6 / rate_hz)
    return TimePair(index, MONOTONIC_US + passed, REALTIME_US + passed)


def samples(first_index: int, rows: int, seed: int = 7) -> Block:
    """Return rows of a noisy shunt and supply. The same first index gives the same rows."""
    rng = np.random.default_rng([seed, first_index])
    shunt = (rng.normal(0, 40, rows) + 2000).astype(np.int16)
    return Block(first_index, (shunt, (rng.normal(0, 30, rows) + 20_000).astype(np.int16)))


def steady(rate_hz: float, rows: int, seconds: float) -> Iterator[Reading]:
    """Yield readings of `rows` rows for `seconds`, with nothing lost."""
    for first in range(0, round(rate_hz * seconds), rows):
        block = samples(first, rows)
        yield Reading((block,), pair_at(block.end_index, rate_hz))


@dataclass
class Given:
    """Gives readings in turn, raises those that are errors, and calls `done` when there are no more.

    It waits for its reader, so a late reader loses nothing.
    """

    readings: Iterable[Reading | Exception]
    rate_hz: float = 1000.0
    channels: tuple[Channel, ...] = (SHUNT, SUPPLY)
    kind: str = "sim"
    device: str = "given by a test"
    serial: str | None = None
    patient: bool = True
    starts: list[int] = field(default_factory=list)
    stops: int = 0
    start_errors: list[Exception] = field(default_factory=list)
    start_s: float = 0.0  # its time to start
    done: Callable[[], object] = lambda: None

    def __post_init__(self) -> None:
        """Begin with the first reading."""
        self._left = iter(self.readings)

    def start(self, first_index: int) -> TimePair:
        """Note the index, and raise the next of `start_errors`, if there is one."""
        self.starts.append(first_index)
        if self.start_errors:
            raise self.start_errors.pop(0)
        begun = pair_at(first_index + round(self.start_s * self.rate_hz), self.rate_hz)
        return replace(begun, index=first_index)

    def read(self, timeout_s: float) -> Reading:  # noqa: ARG002 - it never waits
        """Return the next reading."""
        reading = next(self._left, None)
        if reading is None:
            self.done()
            return Reading((), None)
        if isinstance(reading, Exception):
            raise reading
        return reading

    def stop(self) -> None:
        """Count the stops."""
        self.stops += 1


def record(folder: Path, readings: Iterable[Reading | Exception], **options: object) -> Recorder:
    """Record all readings, and return the recorder."""
    limits = {name: options.pop(name) for name in ("limits", "beside") if name in options}
    part_seconds = options.pop("part_seconds", 1)
    source = Given(readings, **options)  # type: ignore[arg-type] # the test's
    purpose = Purpose("a-study", part_seconds=part_seconds)  # type: ignore[arg-type] # the test's
    recorder = Recorder(Tended(source), folder / "a-study", purpose, **limits)  # type: ignore[arg-type] # the test's
    source.done = recorder.finish_soon
    recorder.start()
    recorder.wait()
    return recorder


def spans_of(items: Sequence[Block | Gap]) -> list[tuple[int, int]]:
    """Return the first index and the end of each block and gap."""
    spans = ((i.first_index, i.end_index) if isinstance(i, Block) else (i.from_index, i.to_index) for i in items)
    return list(spans)


def joined(blocks: Iterable[Block]) -> list[int]:
    """Return every index that has a row."""
    return list(itertools.chain.from_iterable(range(block.first_index, block.end_index) for block in blocks))
