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
    """Gives samples their indices, and what was lost its gap, so that items join without a hole.

    What was lost is computed from the clock: an index is `rate_hz` times the time since one that is known. Known are
    the moments at which nothing was left to be taken from the instrument. They are late by however long driver and
    reader took, and never early, so that of the last 64 the one counts by which the most has been sampled. It is some
    seconds old, in which an instrument's clock that is off by 100 ppm errs by a sample in 10,000.
    """

    def __init__(self, rate_hz: float, clock: Clock) -> None:
        """Samples of each channel a second, nominally; the clock that gaps are computed with."""
        self._rate_hz = rate_hz
        self._clock = clock
        self._first = TimePair(0, 0, 0)
        self._known: deque[TimePair] = deque([self._first], maxlen=KNOWN)
        self.next_index = 0

    def begin(self, first_index: int, ago_us: int = 0) -> TimePair:
        """The instrument began to sample so long ago; its first sample has this index."""
        now = self._clock.now()
        self.next_index = first_index
        self._first = TimePair(first_index, now.monotonic_us - ago_us, now.realtime_us - ago_us)
        self._known.clear()
        self._known.append(self._first)
        return self._first

    def up_to_date(self) -> TimePair:
        """All that has been sampled has been taken: the next index is the one whose time is now."""
        now = self._clock.now()
        self._known.append(TimePair(self.next_index, now.monotonic_us, now.realtime_us))
        return self._known[-1]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the rate that was counted since it began, or began again."""
        warning = rate_warning(self._rate_hz, self._first, self._known[-1])
        return (warning,) if warning else ()

    @property
    def silent_s(self) -> float:
        """Seconds since the ledger was up to date."""
        return (self._clock.now().monotonic_us - self._known[-1].monotonic_us) / MICROS

    def block(self, columns: Sequence[NDArray[Any]]) -> Block:
        """The next samples."""
        block = Block(self.next_index, tuple(columns))
        self.next_index = block.end_index
        return block

    def lose(self, samples: int, reason: Reason) -> Gap:
        """So many samples are lost, at least one."""
        gap = Gap(self.next_index, self.next_index + samples, reason)
        self.next_index = gap.to_index
        return gap

    def lose_until_now(self, reason: Reason) -> Gap:
        """All from the next index to the one whose time is now is lost: at least one sample, as something was."""
        gap = self.lose(max(1, self.missing()), reason)
        self.begin(gap.to_index)
        return gap

    def missing(self, waiting: int = 0) -> int:
        """How many samples are missing by the clock, if so many were sampled and have no index yet."""
        now = self._clock.now().monotonic_us
        due = max(pair.index + round((now - pair.monotonic_us) * self._rate_hz / MICROS) for pair in self._known)
        return due - waiting - self.next_index
