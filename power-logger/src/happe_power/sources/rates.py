# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the rate of an instrument with the wanted rate, and with the counted rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_power.sources.clock import MICROS
from happe_power.sources.source import SourceError

if TYPE_CHECKING:
    from happe_contract.traces import TimePair

GRANTED_WITHIN = 0.01  # 99.9 kHz is good enough for a person who asked for 100 kHz
COUNTED_WITHIN_PPM = 1000.0  # quartz is within 100; 0.1 % means another rate than the nominal one
BATCH_S = 0.25  # the most that a driver may hold back
SHORTEST_S = 10.0


def agreed(asked_hz: float, granted_hz: float, device: str) -> float:
    """Return the rate that the instrument grants. Raises SourceError if it differs from the rate asked for (1 %)."""
    if abs(granted_hz / asked_hz - 1) > GRANTED_WITHIN:
        raise SourceError(
            f"{device} samples at {granted_hz:.10g} Hz, not at {asked_hz:g} Hz: ask for rate = {granted_hz:.10g}"
        )
    return granted_hz


def counted_hz(first: TimePair, last: TimePair) -> float | None:
    """Samples a second between two pairs of a trace; None if they are less than 10 s apart."""
    seconds = (last.monotonic_us - first.monotonic_us) / MICROS
    return (last.index - first.index) / seconds if seconds >= SHORTEST_S else None


def rate_warning(nominal_hz: float, first: TimePair, last: TimePair) -> str | None:
    """A warning if the counted rate is off by more than 0.1 %, which no quartz is, and a batch; else None.

    The trace's times stay right, because they come from the pairs. But an instrument that samples at another rate than
    its driver says loses samples silently, or is not the instrument that the person expects.
    """
    counted = counted_hz(first, last)
    if counted is None:
        return None
    ppm = (counted / nominal_hz - 1) * MICROS
    batch_ppm = BATCH_S / (last.monotonic_us - first.monotonic_us) * MICROS * MICROS
    if abs(ppm) <= COUNTED_WITHIN_PPM + batch_ppm:
        return None
    return (
        f"the program counted {counted:.6g} samples a second, not {nominal_hz:.6g} ({ppm:+.0f} ppm): are samples lost?"
    )
