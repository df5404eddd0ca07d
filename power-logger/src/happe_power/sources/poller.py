# SPDX-License-Identifier: GPL-2.0-or-later
"""Polls instruments that have no clock, at times of the host's clock: index = nominal rate x time."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from happe_contract.traces import Block, Channel, Gap, Reason, TimePair
from happe_power.sources.clock import MICROS, Clock
from happe_power.sources.source import Reading, SourceError, UnpluggedError

Row = tuple[float, ...]  # a raw value for each channel; integers stay integers
BATCH_S = 0.1  # rows of a tenth of a second become one block
FASTEST_HZ = 1000.0
SLOWEST_HZ = 0.01


class Poller:
    """Polls an instrument once a period, and reports missed periods. A polled source is a subclass.

    It reads the sample of index k in the period that begins k periods after that of index 0. A period without a reading
    becomes a gap `stall`; one with a useless reading (`sample` returns None) a gap `invalid`.
    """

    def __init__(
        self, sample: Callable[[], Row | None], channels: Sequence[Channel], rate_hz: float, clock: Clock
    ) -> None:
        """`sample` reads all channels, and may raise SourceError. Raises SourceError for a rate out of range."""
        if not SLOWEST_HZ <= rate_hz <= FASTEST_HZ:
            raise SourceError(f"rate = {rate_hz:g}: a source is polled {SLOWEST_HZ:g} to {FASTEST_HZ:g} times a second")
        self.channels = tuple(channels)
        self.rate_hz = rate_hz
        self._ask = sample
        self._clock = clock
        self._from_index = self._next = self._from_us = 0

    def start(self, first_index: int) -> TimePair:
        """Begin to poll."""
        now = self._clock.now()
        self._from_index = self._next = first_index
        self._from_us = now.monotonic_us
        return TimePair(first_index, now.monotonic_us, now.realtime_us)

    def read(self, timeout_s: float) -> Reading:
        """Poll for a tenth of a second or `timeout_s`, whichever is shorter; at least once if `timeout_s` allows it."""
        now = self._clock.now().monotonic_us
        until = now + int(min(timeout_s, BATCH_S) * MICROS)
        until = max(until, min(self._due_us(self._next), now + int(timeout_s * MICROS)))
        items: list[Block | Gap] = []
        rows: list[Row] = []
        while self._due_us(self._next) <= until:
            self._clock.sleep((self._due_us(self._next) - self._clock.now().monotonic_us) / MICROS)
            self._poll(items, rows)
        self._close(items, rows)
        if not items:
            self._clock.sleep((until - self._clock.now().monotonic_us) / MICROS)
            return Reading((), None)
        return Reading(tuple(items), self._pair())

    def stop(self) -> None:
        """Do nothing, as polling holds nothing open."""

    def _poll(self, items: list[Block | Gap], rows: list[Row]) -> None:
        """Read one period's sample, after a gap for missed periods."""
        current = max(self._next, self._index_at(self._clock.now().monotonic_us))
        if current > self._next:
            self._lose(items, rows, current, Reason.STALL)
        row = self._ask()
        if row is None:
            self._lose(items, rows, self._next + 1, Reason.INVALID)
        else:
            rows.append(row)
            self._next += 1

    def _lose(self, items: list[Block | Gap], rows: list[Row], to_index: int, reason: Reason) -> None:
        self._close(items, rows)
        items.append(Gap(self._next, to_index, reason))
        self._next = to_index

    def _close(self, items: list[Block | Gap], rows: list[Row]) -> None:
        """Turn the rows so far, which end at the next index, into a block."""
        if rows:
            columns = tuple(
                np.array(values, channel.dtype)
                for values, channel in zip(zip(*rows, strict=True), self.channels, strict=True)
            )
            items.append(Block(self._next - len(rows), columns))
            rows.clear()

    def _due_us(self, index: int) -> int:
        return self._from_us + round((index - self._from_index) * MICROS / self.rate_hz)

    def _index_at(self, monotonic_us: int) -> int:
        """The index of the period that contains this time."""
        index = self._from_index + int((monotonic_us - self._from_us) * self.rate_hz / MICROS)
        return index + 1 if self._due_us(index + 1) <= monotonic_us else index

    def _pair(self) -> TimePair:
        """The next index, and the begin of its period."""
        now = self._clock.now()
        due = self._due_us(self._next)
        return TimePair(self._next, due, now.realtime_us + due - now.monotonic_us)


SYS = Path("/sys")


def number(file: Path) -> int:
    """Read a whole number. Raises UnpluggedError if the attribute is gone or fails, SourceError if it is no number."""
    text = word(file)
    try:
        return int(text)
    except ValueError:
        raise SourceError(f"{file}: {text[:40]!r} is not a whole number") from None


def word(file: Path) -> str:
    """Read a line. Raises UnpluggedError if the attribute is gone or fails, SourceError if only root can read it."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()
    except PermissionError:
        raise SourceError(f"{file}: only root can read it; `sudo chmod a+r {file}` until the next boot") from None
    except OSError as error:
        raise UnpluggedError(f"{file}: {error.strerror}") from None
