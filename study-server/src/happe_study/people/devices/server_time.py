# SPDX-License-Identifier: GPL-2.0-or-later
"""From a device's clock to the server's, out of its clock estimates (docs/uploads.md, Clocks). Pure.

Between two estimates the offset is a straight line; beyond the first and the last it stays, and the bound grows. The
power logger reckons alike (docs/uncertainty.md, To the server's clock). An estimate that says less than another one
with DRIFT_PPM for the time between them is left out.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DRIFT_PPM = 500  # of two clocks against each other
WANDER_PPM = 1  # of a quartz between two estimates
DRIFTED_US = 1_000_000 // DRIFT_PPM  # in which clocks drift by a microsecond


class Estimated(Protocol):
    """A clock estimate: server time = device time + offset_us, within uncertainty_us, at device_us."""

    @property
    def device_us(self) -> int:
        """When it was made, by the device's clock."""

    @property
    def offset_us(self) -> int:
        """The server's time less the device's."""

    @property
    def uncertainty_us(self) -> int:
        """A bound on the offset's error."""


class ClockSetError(Exception):
    """Two estimates differ by more than they and the clocks' rates allow."""


@dataclass(frozen=True)
class Offset:
    """The server's time less the device's, within a bound, in microseconds."""

    us: float
    bound_us: float


@dataclass(frozen=True)
class ServerTime:
    """A clock of a device, by at least one estimate, ascending."""

    estimates: tuple[Estimated, ...]

    def offset(self, device_us: float) -> Offset:
        """How far the clock is from the server's at a time of its own."""
        at = bisect_right(self.estimates, device_us, key=lambda each: each.device_us)
        if not 0 < at < len(self.estimates):
            nearest = self.estimates[0 if at == 0 else -1]
            away = abs(device_us - nearest.device_us)
            return Offset(nearest.offset_us, nearest.uncertainty_us + away * DRIFT_PPM * 1e-6)
        before, after = self.estimates[at - 1], self.estimates[at]
        share = (device_us - before.device_us) / (after.device_us - before.device_us)
        away = min(device_us - before.device_us, after.device_us - device_us)
        return Offset(
            (1 - share) * before.offset_us + share * after.offset_us,
            (1 - share) * before.uncertainty_us + share * after.uncertainty_us + away * WANDER_PPM * 1e-6,
        )

    def server_us(self, device_us: float) -> float:
        """The server's time at a time of the device."""
        return device_us + self.offset(device_us).us

    def device_us(self, server_us: float) -> float:
        """The device's time at a time of the server."""
        guess = server_us - self.offset(server_us - self.estimates[0].offset_us).us
        return server_us - self.offset(guess).us  # drift is so small that once more changes nothing


def server_time(estimates: Iterable[Estimated]) -> ServerTime | None:
    """The clock that estimates in any order tell of; None: there are none. Raises ClockSetError."""
    ordered = sorted(estimates, key=lambda each: (each.device_us, each.uncertainty_us))
    for before, after in pairwise(ordered):
        drift = (after.device_us - before.device_us) * DRIFT_PPM * 1e-6
        if abs(after.offset_us - before.offset_us) > before.uncertainty_us + after.uncertainty_us + drift:
            raise ClockSetError("the clock was set between two comparisons with the server")
    kept = _telling(ordered)
    return ServerTime(tuple(kept)) if kept else None


def _telling(ordered: Sequence[Estimated]) -> list[Estimated]:
    """Those that no other one says more than, all in time at DRIFT_PPM; of two that say the same the first."""
    times = [each.device_us for each in ordered]
    said = [each.uncertainty_us * DRIFTED_US for each in ordered]
    before = [inf, *accumulate((bound - at for bound, at in zip(said, times, strict=True)), min)]
    after = [inf, *accumulate((bound + at for bound, at in zip(said[::-1], times[::-1], strict=True)), min)][::-1]
    return [
        each for i, each in enumerate(ordered) if before[i] + times[i] > said[i] and after[i + 1] - times[i] >= said[i]
    ]
