# SPDX-License-Identifier: GPL-2.0-or-later
"""Converts a device's monotonic clock to the server's time and back, by clock estimates (docs/uploads.md, Clocks).

Between two estimates the offset is a straight line; beyond the first and last it is constant. An estimate's uncertainty
is a bound, weighted like the estimate on that line. The clocks may also drift unseen, by the distance to the nearest
estimate: `WANDER_PPM` between two estimates, as a quartz changes its rate when a room warms up by a few degrees;
`DRIFT_PPM` beyond the ends, the bound for two clocks.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf
from typing import NamedTuple

from happe_contract.clocks import DRIFT_PPM
from happe_contract.traces import ClockEstimate

WANDER_PPM = 1
DRIFTED_US = 1_000_000 // DRIFT_PPM  # the time in which clocks drift by a microsecond


class Part(NamedTuple):
    """One reason why an instant may be off: by `weight` times an unknown error within +- `half_width_us`.

    Instants that share a key share that error.
    """

    key: str
    name: str
    weight: float
    half_width_us: float
    source: str


class ClockSetError(Exception):
    """Two estimates differ by more than their uncertainties and the drift allow: a clock was set between them."""


@dataclass(frozen=True)
class ServerClock:
    """Converts times of a device's monotonic clock, named by `clock`, to the server's. Made by `server_clock`."""

    clock: str
    estimates: tuple[ClockEstimate, ...]

    def server_us(self, monotonic_us: float) -> int:
        """The server's time at a time of the device, in microseconds."""
        return round(monotonic_us + sum(weight * each.offset_us for weight, each in self._weights(monotonic_us)))

    def monotonic_us(self, server_us: int) -> int:
        """The device's time at a time of the server, in microseconds."""
        times = [each.monotonic_us + each.offset_us for each in self.estimates]
        at = bisect_right(times, server_us)
        if not 0 < at < len(times):
            return server_us - self.estimates[0 if at == 0 else -1].offset_us
        before, after = self.estimates[at - 1 : at + 1]
        share = (server_us - times[at - 1]) / (times[at] - times[at - 1])
        return before.monotonic_us + round(share * (after.monotonic_us - before.monotonic_us))

    def bound_us(self, monotonic_us: float) -> float:
        """A bound on the error of the server's time at a time of the device, in microseconds."""
        known = sum(weight * each.uncertainty_us for weight, each in self._weights(monotonic_us))
        ppm, away_us = self._unseen(monotonic_us)
        return known + ppm * 1e-6 * away_us

    def parts(self, monotonic_us: int) -> tuple[Part, ...]:
        """The reasons for that error; their bounds add up to `bound_us`."""
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
        ppm, away_us = self._unseen(monotonic_us)
        unseen = f"{away_us / 1e6:.1f} s from the nearest estimate, {ppm:g} ppm"
        return (*found, Part(f"{self.clock}/unseen/{monotonic_us}", "clock, unseen", 1.0, ppm * 1e-6 * away_us, unseen))

    def _weights(self, monotonic_us: float) -> list[tuple[float, ClockEstimate]]:
        """The one or two estimates that give the offset, each with its weight."""
        at = bisect_right(self.estimates, monotonic_us, key=lambda each: each.monotonic_us)
        if not 0 < at < len(self.estimates):
            return [(1.0, self.estimates[0 if at == 0 else -1])]
        before, after = self.estimates[at - 1 : at + 1]
        share = (monotonic_us - before.monotonic_us) / (after.monotonic_us - before.monotonic_us)
        return [(1.0 - share, before), (share, after)]

    def _unseen(self, monotonic_us: float) -> tuple[float, float]:
        """The rate in ppm at which the clocks may drift unseen, and the microseconds since the nearest estimate."""
        inside = self.estimates[0].monotonic_us <= monotonic_us <= self.estimates[-1].monotonic_us
        away_us = min(abs(monotonic_us - each.monotonic_us) for _weight, each in self._weights(monotonic_us))
        return WANDER_PPM if inside else DRIFT_PPM, away_us


def server_clock(clock: str, estimates: Iterable[ClockEstimate]) -> ServerClock | None:
    """Make a clock of estimates in any order; None if there are none. Raises ClockSetError.

    Drops an estimate that is less exact than another one plus DRIFT_PPM for the time between them.
    """
    ordered = sorted(estimates, key=lambda each: (each.monotonic_us, each.uncertainty_us))
    for before, after in pairwise(ordered):
        _require_agreement(before, after)
    kept = _telling(ordered)
    return ServerClock(clock, tuple(kept)) if kept else None


def _require_agreement(before: ClockEstimate, after: ClockEstimate) -> None:
    drift_us = DRIFT_PPM * 1e-6 * (after.monotonic_us - before.monotonic_us)
    apart_us = abs(after.offset_us - before.offset_us)
    if apart_us > before.uncertainty_us + after.uncertainty_us + drift_us:
        raise ClockSetError(
            f"the estimates at {before.monotonic_us / 1e6:.1f} s and {after.monotonic_us / 1e6:.1f} s are "
            f"{apart_us / 1000:.1f} ms apart: a clock was set between them"
        )


def _telling(ordered: Sequence[ClockEstimate]) -> list[ClockEstimate]:
    """Keep the estimates that no other beats after DRIFT_PPM for the time between them; of equals, the first."""
    times = [each.monotonic_us for each in ordered]
    said = [each.uncertainty_us * DRIFTED_US for each in ordered]
    before = [inf, *accumulate((bound - at for bound, at in zip(said, times, strict=True)), min)]
    after = [inf, *accumulate((bound + at for bound, at in zip(said[::-1], times[::-1], strict=True)), min)][::-1]
    return [
        each for i, each in enumerate(ordered) if before[i] + times[i] > said[i] and after[i + 1] - times[i] >= said[i]
    ]
