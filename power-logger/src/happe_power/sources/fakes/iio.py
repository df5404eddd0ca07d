# SPDX-License-Identifier: GPL-2.0-or-later
"""An INA226 in memory: the twin of libiio.RealDevice."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from happe_power.sources.libiio import TIMESTAMP, Format
from happe_power.sources.source import UnpluggedError

if TYPE_CHECKING:
    from happe_power.sources.clock import Clock

WORD = Format(np.dtype("<i2"), 16, 0, signed=True)
STAMP = Format(np.dtype("<i8"), 64, 0, signed=True)


@dataclass
class FakeDevice:
    """Returns `values`, and fills its buffer by the clock. A test sets its fields to break it."""

    clock: Clock
    values: dict[str, int] = field(default_factory=lambda: {"voltage0": 8000, "voltage1": 16_000, "power2": 100})
    scales: dict[str, float] = field(default_factory=lambda: {"voltage0": 0.0025, "voltage1": 1.25, "power2": 1.25})
    offsets: dict[str, float] = field(default_factory=dict)
    gains: dict[str, float] = field(default_factory=dict)  # an INA226 has none
    formats: dict[str, Format] = field(default_factory=dict)
    name: str = "ina226"
    hz: float | None = 100.0
    stamped: bool = True
    has_buffer: bool = True
    gone: bool = False
    lose: int = 0  # samples that the driver does not put into the next buffer
    _open: tuple[str, ...] = ()
    _size: int = 0
    _taken: int = 0
    _began_us: int = 0

    @property
    def inputs(self) -> tuple[str, ...]:
        """The ids of its channels."""
        return tuple(self.values)

    def attribute(self, channel: str, name: str) -> float | None:
        """Scale, offset or gain."""
        return {"scale": self.scales, "offset": self.offsets, "hardwaregain": self.gains}[name].get(channel)

    def raw(self, channel: str) -> int:
        """A reading."""
        if self.gone:
            raise UnpluggedError(f"{self.name}, {channel}: No such device")
        return self.values[channel]

    def sampling_hz(self) -> float | None:
        """Its rate."""
        return self.hz

    def open_buffer(self, channels: tuple[str, ...], samples: int) -> dict[str, Format] | None:
        """Begin to fill the buffer."""
        if not self.has_buffer:
            return None
        self._open, self._size, self._taken = channels, samples, 0
        self._began_us = self.clock.now().monotonic_us
        formats = {name: self.formats.get(name, WORD) for name in channels}
        return formats | ({TIMESTAMP: STAMP} if self.stamped else {})

    def refill(self) -> dict[str, bytes] | None:
        """Return a full buffer; None if it is not full yet."""
        if self.gone:
            raise OSError(errno.ENODEV, "No such device")
        hz = self.hz or 1.0
        made = int((self.clock.now().monotonic_us - self._began_us) * hz / 1e6)
        if made - self._taken < self._size + self.lose:
            return None
        self._taken, self.lose = self._taken + self.lose, 0
        indices = np.arange(self._taken, self._taken + self._size)
        self._taken += self._size
        stamps = (self._began_us * 1000 + indices * 1e9 / hz).astype("<i8")
        words = {name: np.full(self._size, self.values[name], self._dtype(name)) for name in self._open}
        return {name: word.tobytes() for name, word in words.items()} | (
            {TIMESTAMP: stamps.tobytes()} if self.stamped else {}
        )

    def close_buffer(self) -> None:
        """End the filling."""
        self._open = ()

    def _dtype(self, name: str) -> np.dtype[np.generic]:
        return self.formats.get(name, WORD).dtype
