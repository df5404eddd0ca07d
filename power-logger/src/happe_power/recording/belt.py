# SPDX-License-Identifier: GPL-2.0-or-later
"""The bounded queue from the thread that reads the instrument to the one that writes."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import TYPE_CHECKING

from happe_contract.traces import Block, Gap, Reason
from happe_power.recording import ledger
from happe_power.sources.source import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_SECONDS = 10
MOST_BYTES = 32 * 1024 * 1024
LEAST_BYTES = 64 * 1024
MOST_TAKEN = 64  # readings
LINGER_S = 0.1  # one write for many readings costs less than many writes


def capacity(rate_hz: float, row_bytes: int) -> int:
    """The bytes of samples that a belt may hold: ten seconds of samples, at most 32 MiB."""
    return max(LEAST_BYTES, min(MOST_BYTES, int(rate_hz * row_bytes * MOST_SECONDS)))


class Belt:
    """A queue of readings. If it is full, a new reading becomes gaps `storage`, or waits if the source is `patient`."""

    def __init__(self, most_bytes: int, *, patient: bool = False) -> None:
        """Hold at most so many bytes of samples, but always one reading."""
        self._most_bytes = most_bytes
        self.patient = patient
        self._readings: deque[Reading] = deque()
        self._bytes = 0
        self._lost: list[Gap] = []
        self._ended = False
        self._changed = Condition()

    def put(self, reading: Reading) -> None:
        """Add a reading, unless it is empty. Only a patient source waits here, a real instrument never."""
        if not reading.items and reading.at is None:
            return
        size = _bytes(reading)
        with self._changed:
            while self.patient and not self._room_for(size):
                self._changed.wait()
            if not self._room_for(size):
                for item in reading.items:
                    ledger.add(self._lost, Gap(*ledger.span(item), Reason.STORAGE) if isinstance(item, Block) else item)
                return
            self._readings.append(self._after_lost(reading))
            self._bytes += size
            if self._bytes >= self._most_bytes // 2:
                self._changed.notify_all()

    def end(self) -> None:
        """Announce the end."""
        with self._changed:
            if self._lost:
                self._readings.append(self._after_lost(Reading((), None)))
            self._ended = True
            self._changed.notify_all()

    def take(self) -> list[Reading] | None:
        """Return the readings of a tenth of a second, or sooner once the queue is half full; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended or self._bytes >= self._most_bytes // 2, LINGER_S)
            if self._ended and not self._readings:
                return None
            taken = [self._readings.popleft() for _ in range(min(len(self._readings), MOST_TAKEN))]
            self._bytes -= sum(map(_bytes, taken))
            self._changed.notify_all()
            return taken

    def _room_for(self, size: int) -> bool:
        return not self._readings or self._bytes + size <= self._most_bytes

    def _after_lost(self, reading: Reading) -> Reading:
        if not self._lost:
            return reading
        items: Sequence[Block | Gap] = (*self._lost, *reading.items)
        self._lost = []
        return Reading(tuple(items), reading.at)


def _bytes(reading: Reading) -> int:
    return sum(column.nbytes for item in reading.items if isinstance(item, Block) for column in item.columns)
