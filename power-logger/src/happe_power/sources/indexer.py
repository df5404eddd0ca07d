# SPDX-License-Identifier: GPL-2.0-or-later
"""The indices of a source: every index is in one block or one gap, in order; and an instrument's rate."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from happe_contract.traces import Block, Gap, Reason, TimePair
from happe_power.sources.clock import MICROS
from happe_power.sources.source import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from happe_power.sources.clock import Clock

KNOWN = 64
GRANTED_WITHIN = 0.01  # 99.9 kHz is good enough for a person who asked for 100 kHz
COUNTED_WITHIN_PPM = 1000.0  # quartz is within 100; 0.1 % means another rate than the nominal one
BATCH_S = 0.25  # the most that a driver may hold back
SHORTEST_S = 10.0


class Indexer:
    """Gives each sample its index and each loss its gap, so that items join without a hole.

    The clock gives the number of lost samples: an index is `rate_hz` times the time since a known index. An index is
    known whenever the reader has emptied the instrument. Driver and reader can make that moment late, never early, so
    the indexer uses the one of the last 64 that gives the highest index. That one may be some seconds old, in which
    an instrument's clock that is off by 100 ppm errs by a sample in 10,000.
    """

    def __init__(self, rate_hz: float, clock: Clock) -> None:
        """Take the nominal samples of each channel a second, and the clock that measures gaps."""
        self._rate_hz = rate_hz
        self._clock = clock
        self._first = TimePair(0, 0, 0)
        self._known: deque[TimePair] = deque([self._first], maxlen=KNOWN)
        self.next_index = 0

    def begin(self, first_index: int, ago_us: int = 0) -> TimePair:
        """Note that the instrument began to sample `ago_us` ago. Its first sample has this index."""
        now = self._clock.now()
        self.next_index = first_index
        self._first = TimePair(first_index, now.monotonic_us - ago_us, now.realtime_us - ago_us)
        self._known.clear()
        self._known.append(self._first)
        return self._first

    def up_to_date(self) -> TimePair:
        """Note that the reader has taken all samples, so that the next index is now. Return that pair."""
        now = self._clock.now()
        self._known.append(TimePair(self.next_index, now.monotonic_us, now.realtime_us))
        return self._known[-1]

    @property
    def notes(self) -> tuple[str, ...]:
        """A warning if the counted rate, since the last begin, differs from the nominal one."""
        warning = rate_warning(self._rate_hz, self._first, self._known[-1])
        return (warning,) if warning else ()

    @property
    def silent_s(self) -> float:
        """Seconds since the indexer was up to date."""
        return (self._clock.now().monotonic_us - self._known[-1].monotonic_us) / MICROS

    def block(self, columns: Sequence[NDArray[Any]]) -> Block:
        """Make a block of the next samples."""
        block = Block(self.next_index, tuple(columns))
        self.next_index = block.end_index
        return block

    def lose(self, samples: int, reason: Reason) -> Gap:
        """Make a gap of so many lost samples."""
        gap = Gap(self.next_index, self.next_index + samples, reason)
        self.next_index = gap.to_index
        return gap

    def lose_until_now(self, reason: Reason) -> Gap:
        """Make a gap from the next index to the index of now, of one sample at least."""
        gap = self.lose(max(1, self.missing()), reason)
        self.begin(gap.to_index)
        return gap

    def missing(self, waiting: int = 0) -> int:
        """How many samples are missing by the clock, if `waiting` samples still have no index."""
        now = self._clock.now().monotonic_us
        due = max(pair.index + round((now - pair.monotonic_us) * self._rate_hz / MICROS) for pair in self._known)
        return due - waiting - self.next_index


def agreed(asked_hz: float, granted_hz: float, device: str) -> float:
    """Return the rate that the instrument grants. Raises SourceError if it differs from the rate asked for (1 %)."""
    if abs(granted_hz / asked_hz - 1) > GRANTED_WITHIN:
        raise SourceError(
            f"{device} samples at {granted_hz:.10g} Hz, not at {asked_hz:g} Hz: ask for rate = {granted_hz:.10g}"
        )
    return granted_hz


def counted_hz(first: TimePair, last: TimePair) -> float | None:
    """Samples a second between two pairs of a trace; None if they are less than 10 s apart."""
    seconds = (last.monotonic_us - first.monotonic_us) / MICROS
    return (last.index - first.index) / seconds if seconds >= SHORTEST_S else None


def rate_warning(nominal_hz: float, first: TimePair, last: TimePair) -> str | None:
    """A warning if the counted rate is off by more than 0.1 %, which no quartz is, and a batch; else None.

    The trace's times stay right, because they come from the pairs. But an instrument that samples at another rate than
    its driver says loses samples silently, or is not the instrument that the person expects.
    """
    counted = counted_hz(first, last)
    if counted is None:
        return None
    ppm = (counted / nominal_hz - 1) * MICROS
    batch_ppm = BATCH_S / (last.monotonic_us - first.monotonic_us) * MICROS * MICROS
    if abs(ppm) <= COUNTED_WITHIN_PPM + batch_ppm:
        return None
    return (
        f"the program counted {counted:.6g} samples a second, not {nominal_hz:.6g} ({ppm:+.0f} ppm): are samples lost?"
    )
