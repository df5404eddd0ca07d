# SPDX-License-Identifier: GPL-2.0-or-later
"""The two clocks that date a sample. Callers pass them as an argument. VirtualClock is for tests; only they move it."""

import time
from dataclasses import dataclass
from typing import Protocol

MICROS = 1_000_000


@dataclass(frozen=True)
class Instant:
    """One moment: CLOCK_MONOTONIC and the wall clock, in microseconds."""

    monotonic_us: int
    realtime_us: int


class Clock(Protocol):
    """Tells the time, and waits."""

    def now(self) -> Instant:
        """Both clocks, read one after the other."""

    def sleep(self, seconds: float) -> None:
        """Wait, unless `seconds` is 0 or less."""


class SystemClock:
    """The machine's clocks."""

    def now(self) -> Instant:
        """Both clocks."""
        return Instant(time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000, time.time_ns() // 1000)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        if seconds > 0:
            time.sleep(seconds)


class VirtualClock:
    """Stands still until somebody sleeps: a day passes in no time."""

    def __init__(self, monotonic_us: int = 5_000_000_000, realtime_us: int = 1_793_440_000_000_000) -> None:
        """Begin at these microseconds of both clocks."""
        self._now = Instant(monotonic_us, realtime_us)

    @classmethod
    def at(cls, now: Instant) -> "VirtualClock":
        """A clock that stands at this instant."""
        return cls(now.monotonic_us, now.realtime_us)

    def now(self) -> Instant:
        """Both clocks."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        passed = max(0, round(seconds * MICROS))
        self._now = Instant(self._now.monotonic_us + passed, self._now.realtime_us + passed)
