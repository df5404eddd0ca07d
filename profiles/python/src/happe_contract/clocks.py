# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes how far a device's clock is from the server's, from probes with four timestamps. Pure.

The device notes t0 and asks; the server notes t1 when it receives and t2 when it answers; the device notes t3. If o is
the server's clock minus the device's, no delay is negative, and neither clock is set nor drifts meanwhile, then

    t2 - t3 <= o <= t1 - t0

so o lies within half the round trip (t3 - t0) - (t2 - t1) of the middle of these two, however unequal the delays are
(RFC 5905, section 8, has the same middle). The probe with the shortest round trip is the most exact.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from happe_contract.faults import Fault, refuse_if_any

MOST_PROBES = 64
MOST_ROUND_TRIP_US = 10_000_000
MOST_SPAN_US = 3600 * 1_000_000  # from the first probe to the last
LATEST_US = 2**53 - 1  # the largest integer that every JSON reader keeps exactly; the year 2255
READING_US = 1  # a reading in whole microseconds is up to this much too low
DRIFT_PPM = 500  # at most, of two clocks against each other, both slewed or cheap


@dataclass(frozen=True)
class Probe:
    """One exchange: t0 and t3 by the device's clock, t1 and t2 by the server's, in microseconds."""

    t0: int
    t1: int
    t2: int
    t3: int

    @property
    def round_trip_us(self) -> int:
        """The time of both ways together. By the clocks' resolution, it may be a microsecond below 0."""
        return (self.t3 - self.t0) - (self.t2 - self.t1)

    @property
    def offset_us(self) -> int:
        """The server's clock minus the device's, if both delays were equal; rounded down."""
        return ((self.t1 - self.t0) + (self.t2 - self.t3)) // 2

    @property
    def uncertainty_us(self) -> int:
        """A bound on the error of offset_us: half the round trip, rounded up, and the resolution of a reading."""
        return (self.round_trip_us + 1) // 2 + READING_US


@dataclass(frozen=True)
class Estimate:
    """server time = device time + offset_us, within uncertainty_us, when the device's clock said device_us."""

    offset_us: int
    uncertainty_us: int
    device_us: int
    server_us: int
    probes: int


def estimate(probes: Sequence[Sequence[int]]) -> Estimate:
    """The estimate of the probe with the shortest round trip, the first of equals.

    Each probe is [t0, t1, t2, t3], in the order in which they were made. Raises BadDocumentError for impossible probes;
    the pointers of its faults begin at /probes.
    """
    refuse_if_any(_shape_faults(probes))
    read = [Probe(*each) for each in probes]
    refuse_if_any(_order_faults(read))
    best = min(read, key=lambda probe: probe.round_trip_us)
    refuse_if_any(_step_faults(read, best))
    middle = (best.t0 + best.t3) // 2
    return Estimate(best.offset_us, best.uncertainty_us, middle, middle + best.offset_us, len(read))


def _shape_faults(probes: Sequence[Sequence[int]]) -> Iterator[Fault]:
    if not 1 <= len(probes) <= MOST_PROBES:
        yield Fault("/probes", f"must be 1 to {MOST_PROBES} probes")
        return
    for number, each in enumerate(probes):
        if len(each) != len(("t0", "t1", "t2", "t3")):
            yield Fault(f"/probes/{number}", "must be four times")
        for position, t_us in enumerate(each):
            if type(t_us) is not int or not 0 <= t_us <= LATEST_US:
                yield Fault(f"/probes/{number}/{position}", f"must be an integer from 0 to {LATEST_US}")


def _order_faults(probes: Sequence[Probe]) -> Iterator[Fault]:
    for number, probe in enumerate(probes):
        at = f"/probes/{number}"
        if probe.t3 < probe.t0:
            yield Fault(f"{at}/3", "must not be before t0")
        elif probe.t2 < probe.t1:
            yield Fault(f"{at}/2", "must not be before t1")
        elif probe.round_trip_us < -READING_US:
            yield Fault(at, "took the server longer than the device waited: a clock was set")
        elif probe.round_trip_us > MOST_ROUND_TRIP_US:
            yield Fault(at, f"has a round trip of more than {MOST_ROUND_TRIP_US} microseconds")
    for number, (before, after) in enumerate(pairwise(probes), start=1):
        if after.t0 < before.t3:
            yield Fault(f"/probes/{number}/0", "must not be before the t3 of the probe before")
    if probes[-1].t3 - probes[0].t0 > MOST_SPAN_US:
        yield Fault("/probes", f"must be within {MOST_SPAN_US} microseconds")


def _step_faults(probes: Sequence[Probe], best: Probe) -> Iterator[Fault]:
    """Report probes that differ from the best by more than uncertainty and drift allow: a clock was set."""
    for number, probe in enumerate(probes):
        drift_us = abs(probe.t0 - best.t0) * DRIFT_PPM // 1_000_000
        if abs(probe.offset_us - best.offset_us) > probe.uncertainty_us + best.uncertainty_us + drift_us:
            yield Fault(f"/probes/{number}", "disagrees with the probe of least round trip: a clock was set")
