# SPDX-License-Identifier: GPL-2.0-or-later
"""The indices of a source: every index is in one block or in one gap, in order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from happe_contract.traces import Block, Gap, Reason, TimePair
from happe_power.sources.clock import MICROS
from happe_power.sources.rates import rate_warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from happe_power.sources.clock import Clock

KNOWN = 64


class Ledger:
    """Gives each sample its index and each loss its gap, so that items join without a hole.

    The clock gives the number of lost samples: an index is `rate_hz` times the time since a known index. An index is
    known whenever the reader has emptied the instrument. Driver and reader can make that moment late, never early, so
    the ledger uses the one of the last 64 that gives the highest index. That one may be some seconds old, in which
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
        """Seconds since the ledger was up to date."""
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
