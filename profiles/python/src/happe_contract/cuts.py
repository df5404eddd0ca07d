# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds instants of the server's time among the samples of a trace, each with the reasons why it may be off."""

from dataclasses import dataclass

from happe_contract.server_time import Part, ServerClock
from happe_contract.time_base import TimeBase


@dataclass(frozen=True)
class Cut:
    """An instant of server time: its position among the samples (an index with a fraction), and its errors."""

    server_us: int
    position: float
    parts: tuple[Part, ...]

    @property
    def half_width_us(self) -> float:
        """A bound on the error of the position, in microseconds."""
        return sum(abs(part.weight) * part.half_width_us for part in self.parts)


@dataclass(frozen=True)
class Clocks:
    """Both conversions: between a sample's position and the server's time."""

    samples: TimeBase
    server: ServerClock

    def server_us(self, position: float) -> int:
        """The server's time at a position."""
        return self.server.server_us(self.samples.monotonic_us(position))

    def cut(self, server_us: int) -> Cut:
        """Find an instant's position among the samples."""
        monotonic_us = self.server.monotonic_us(server_us)
        position = self.samples.position(monotonic_us)
        base = Part(
            f"{self.server.clock}/samples/{self.samples.piece(position)}",
            "time base of the samples",
            1.0,
            self.samples.half_width_us(position),
            "how late pairs of index and time are, and half a sample",
        )
        return Cut(server_us, position, (*self.server.parts(monotonic_us), base))
