# SPDX-License-Identifier: GPL-2.0-or-later
"""From this host's monotonic clock to the server's time and back, out of clock estimates (docs/uploads.md, Clocks).

Between two estimates the offset is a straight line; beyond the first and last it stays. An estimate's uncertainty is a
bound and is weighed as the line weighs the estimate. To that comes what the clocks may do unseen, by the distance to
the nearest estimate: `WANDER_PPM` between two, by how much a quartz changes its rate when a room warms up by a few
degrees; `DRIFT_PPM` beyond the ends, the bound that the server has for two clocks.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_power.arithmetic.time_base import TimeBase
    from happe_power.model import ClockEstimate

DRIFT_PPM = 500.0
WANDER_PPM = 1.0


class Part(NamedTuple):
    """One reason why an instant may be off: by `weight` times something within +- `half_width_us`.

    Instants that have a key in common are off by the same something.
    """

    key: str
    name: str
    weight: float
    half_width_us: float
    source: str


@dataclass(frozen=True)
class Cut:
    """An instant of server time, found among the samples: the position (an index with a fraction), and how well."""

    server_us: int
    position: float
    parts: tuple[Part, ...]

    @property
    def half_width_us(self) -> float:
        """A bound on how far off the position is, in time."""
        return sum(abs(part.weight) * part.half_width_us for part in self.parts)


class ClockSetError(Exception):
    """Two estimates differ by more than they and the clocks' rates allow: a clock was set between them."""


@dataclass(frozen=True)
class ServerClock:
    """The server's clock as seen from a host's monotonic clock, named by `clock`. Make it with `server_clock`."""

    clock: str
    estimates: tuple[ClockEstimate, ...]

    def server_us(self, monotonic_us: int) -> int:
        """The server's time at a time of this host."""
        return monotonic_us + round(sum(w * each.offset_us for w, each in self._weights(monotonic_us)))

    def monotonic_us(self, server_us: int) -> int:
        """The time of this host at a time of the server's."""
        times = [each.monotonic_us + each.offset_us for each in self.estimates]
        at = bisect_right(times, server_us)
        if not 0 < at < len(times):
            return server_us - self.estimates[0 if at == 0 else -1].offset_us
        before, after = self.estimates[at - 1 : at + 1]
        span = times[at] - times[at - 1]
        return before.monotonic_us + round(
            (server_us - times[at - 1]) * (after.monotonic_us - before.monotonic_us) / span
        )

    def parts(self, monotonic_us: int) -> tuple[Part, ...]:
        """Why the server's time at a time of this host may be off."""
        found = [
            Part(
                f"{self.clock}/{each.monotonic_us}",
                f"clock at the cuts, estimate at {each.monotonic_us / 1e6:.1f} s",
                weight,
                each.uncertainty_us,
                "half of the quickest round trip, as a bound",
            )
            for weight, each in self._weights(monotonic_us)
            if weight
        ]
        away = min(abs(monotonic_us - each.monotonic_us) for each in self.estimates)
        inside = self.estimates[0].monotonic_us <= monotonic_us <= self.estimates[-1].monotonic_us
        ppm = WANDER_PPM if inside else DRIFT_PPM
        unseen = f"{away / 1e6:.1f} s from the nearest estimate, {ppm:g} ppm"
        return (*found, Part(f"{self.clock}/unseen/{monotonic_us}", "clock, unseen", 1.0, ppm * 1e-6 * away, unseen))

    def _weights(self, monotonic_us: int) -> list[tuple[float, ClockEstimate]]:
        """The estimates that tell the offset, each with its weight."""
        at = bisect_right([each.monotonic_us for each in self.estimates], monotonic_us)
        if not 0 < at < len(self.estimates):
            return [(1.0, self.estimates[0 if at == 0 else -1])]
        before, after = self.estimates[at - 1 : at + 1]
        share = (monotonic_us - before.monotonic_us) / (after.monotonic_us - before.monotonic_us)
        return [(1.0 - share, before), (share, after)]


def server_clock(clock: str, estimates: Sequence[ClockEstimate]) -> ServerClock | None:
    """A clock of estimates in any order; None if there are none. Raises ClockSetError.

    An estimate that says less than another one with DRIFT_PPM for the time between them is left out.
    """
    ordered = sorted(estimates, key=lambda each: (each.monotonic_us, each.uncertainty_us))
    for before, after in pairwise(ordered):
        _agree(before, after)
    kept = [
        each for i, each in enumerate(ordered) if not any(_says_less(each, i, *other) for other in enumerate(ordered))
    ]
    return ServerClock(clock, tuple(kept)) if kept else None


def _apart(one: ClockEstimate, other: ClockEstimate) -> float:
    return DRIFT_PPM * 1e-6 * abs(one.monotonic_us - other.monotonic_us)


def _says_less(each: ClockEstimate, at: int, other_at: int, other: ClockEstimate) -> bool:
    through_other = other.uncertainty_us + _apart(each, other)
    return at != other_at and (through_other, other_at) < (each.uncertainty_us, at)


def _agree(before: ClockEstimate, after: ClockEstimate) -> None:
    apart = abs(after.offset_us - before.offset_us)
    if apart > before.uncertainty_us + after.uncertainty_us + _apart(before, after):
        raise ClockSetError(
            f"the estimates at {before.monotonic_us / 1e6:.1f} s and {after.monotonic_us / 1e6:.1f} s are "
            f"{apart / 1000:.1f} ms apart: a clock was set between them"
        )


@dataclass(frozen=True)
class Clocks:
    """Both steps: from a sample's position to the server's time and back."""

    samples: TimeBase
    server: ServerClock

    def server_us(self, position: float) -> int:
        """The server's time at a position."""
        return self.server.server_us(self.samples.monotonic_us(position))

    def cut(self, server_us: int) -> Cut:
        """Where an instant is among the samples."""
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
