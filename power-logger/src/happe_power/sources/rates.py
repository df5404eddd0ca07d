# SPDX-License-Identifier: GPL-2.0-or-later
"""What an instrument samples at, beside what was asked for and what was counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_power.sources.clock import MICROS
from happe_power.sources.source import SourceError

if TYPE_CHECKING:
    from happe_contract.traces import TimePair

GRANTED_WITHIN = 0.01  # a person who asked for 100 kHz and gets 99.9 kHz got what was meant
COUNTED_WITHIN_PPM = 1000.0  # quartz is within 100; 0.1 % is another rate than the one that is written down
BATCH_S = 0.25  # what a driver may hold back, at most
SHORTEST_S = 10.0


def agreed(asked_hz: float, granted_hz: float, device: str) -> float:
    """What the instrument grants, in samples a second; SourceError if that is not what was asked for (1 %)."""
    if abs(granted_hz / asked_hz - 1) > GRANTED_WITHIN:
        raise SourceError(
            f"{device} samples at {granted_hz:.10g} Hz, not at {asked_hz:g} Hz: ask for rate={granted_hz:.10g}"
        )
    return granted_hz


def counted_hz(first: TimePair, last: TimePair) -> float | None:
    """Samples a second between two pairs of a trace; None for less than 10 s, which say little."""
    seconds = (last.monotonic_us - first.monotonic_us) / MICROS
    return (last.index - first.index) / seconds if seconds >= SHORTEST_S else None


def rate_warning(nominal_hz: float, first: TimePair, last: TimePair) -> str | None:
    """A line for people if the counted rate is off by more than 0.1 %, which no quartz is, and a batch; else None.

    The trace's times stay right, as they come from the pairs; but an instrument that samples at another rate than its
    driver says loses samples silently, or is not the instrument that one thinks it is.
    """
    counted = counted_hz(first, last)
    if counted is None:
        return None
    ppm = (counted / nominal_hz - 1) * MICROS
    batch_ppm = BATCH_S / (last.monotonic_us - first.monotonic_us) * MICROS * MICROS
    if abs(ppm) <= COUNTED_WITHIN_PPM + batch_ppm:
        return None
    return (
        f"{counted:.6g} samples a second were counted, not {nominal_hz:.6g} ({ppm:+.0f} ppm): are samples being lost?"
    )
