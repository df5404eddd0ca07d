# SPDX-License-Identifier: GPL-2.0-or-later
"""Replays a stored trace as a source of samples and gaps, at the recorded speed or another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from happe_contract.traces import Block, Gap, TimePair
from happe_power.sources.source import EndedError, Reading
from happe_power.viewing.stretch import MICROS, axis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_power.sources.clock import Clock
    from happe_power.trace import Trace

BATCH_S = 0.05
MOST_ROWS = 1 << 20


class Replay:
    """A stretch of a trace, as a source (sources/source.py).

    Times keep the distances of the stored samples, and begin now. `speed` is how many recorded seconds pass in one
    second; infinite: as fast as a reader takes them. The kind is `file`, because this is no new measurement.
    """

    kind = "file"
    serial: str | None = None

    def __init__(self, trace: Trace, first: int, end: int, speed: float, clock: Clock) -> None:
        """Read nothing yet. Raises TraceError."""
        self.device = f"replay of {trace.id}: {trace.header['source']['device']}"[:200]
        self.channels = trace.channels
        self.rate_hz = trace.rate_hz
        self.patient = math.isinf(speed)
        self._trace, self._first, self._end, self._speed, self._clock = trace, first, end, speed, clock
        self._axis = axis(trace)
        self._items = self._stored()
        self._held: Block | Gap | None = None
        self._shift = 0

    def start(self, first_index: int) -> TimePair:
        """Begin, or continue after a stop. The first sample has this index."""
        if not hasattr(self, "_began"):
            self._began = self._clock.now()
            self._at = self._first
            self._shift = first_index - self._first
        return self._pair(self._at)

    def read(self, timeout_s: float) -> Reading:
        """Return the samples and gaps that are due by now. Raises EndedError, TraceError."""
        if self._at >= self._end:
            raise EndedError(f"{self._trace.folder}: the trace has no more")
        if not self.patient:
            self._clock.sleep(min(timeout_s, BATCH_S))
        due = min(self._due(), self._at + MOST_ROWS, self._end)
        items = tuple(self._until(due))
        return Reading(items, self._pair(self._at)) if items else Reading((), None)

    def stop(self) -> None:
        """Do nothing, as a trace holds no instrument."""

    def _due(self) -> int:
        if self.patient:
            return self._end
        passed = (self._clock.now().monotonic_us - self._began.monotonic_us) / MICROS * self._speed
        return self._axis.at(float(self._axis.seconds(np.array([self._first]))[0]) + passed)

    def _until(self, due: int) -> Iterator[Block | Gap]:
        """Yield the stored items up to an index, renumbered."""
        while self._at < due:
            item = self._held or next(self._items, None)
            if item is None:
                self._at = self._end
                return
            given, self._held = _split(item, due)
            self._at = _span(given)[1]
            yield _shifted(given, self._shift)

    def _stored(self) -> Iterator[Block | Gap]:
        """Yield the blocks and gaps of the stretch in the order of their indices."""
        inside = (gap for gap in self._trace.gaps if gap.to_index > self._first and gap.from_index < self._end)
        gaps = [Gap(max(g.from_index, self._first), min(g.to_index, self._end), g.reason) for g in inside]
        for block in self._trace.blocks(self._first, self._end):
            while gaps and gaps[0].from_index < block.first_index:
                yield gaps.pop(0)
            yield block
        yield from gaps

    def _pair(self, index: int) -> TimePair:
        after_s = self._axis.seconds(np.array([self._first, index]))
        passed = round((after_s[1] - after_s[0]) * MICROS)
        return TimePair(index + self._shift, self._began.monotonic_us + passed, self._began.realtime_us + passed)


def _span(item: Block | Gap) -> tuple[int, int]:
    return (item.first_index, item.end_index) if isinstance(item, Block) else (item.from_index, item.to_index)


def _split(item: Block | Gap, at: int) -> tuple[Block | Gap, Block | Gap | None]:
    """Split an item at an index: the part before it, and the rest, if any."""
    first, end = _span(item)
    if end <= at:
        return item, None
    if isinstance(item, Gap):
        return Gap(first, at, item.reason), Gap(at, end, item.reason)
    rows = at - first
    return Block(first, tuple(c[:rows] for c in item.columns)), Block(at, tuple(c[rows:] for c in item.columns))


def _shifted(item: Block | Gap, by: int) -> Block | Gap:
    if isinstance(item, Gap):
        return Gap(item.from_index + by, item.to_index + by, item.reason)
    return Block(item.first_index + by, item.columns)
