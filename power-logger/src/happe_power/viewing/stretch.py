# SPDX-License-Identifier: GPL-2.0-or-later
"""Converts between indices of a trace and seconds since its first sample, by the trace's pairs of index and time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from happe_contract.traces import TimePair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from happe_power.trace import Trace

MICROS = 1_000_000


@dataclass(frozen=True)
class Axis:
    """Knots of index and microseconds since the first sample, both ascending; straight lines between them.

    The nominal rate holds before the first knot and after the last.
    """

    index: NDArray[np.float64]
    after_us: NDArray[np.float64]
    rate_hz: float

    def seconds(self, index: NDArray[Any]) -> NDArray[np.float64]:
        """Seconds since the trace's first sample, at indices."""
        inside = np.interp(index, self.index, self.after_us) / MICROS
        beyond = np.minimum(index - self.index[0], 0) + np.maximum(index - self.index[-1], 0)
        return np.asarray(inside + beyond / self.rate_hz, dtype=np.float64)

    def at(self, seconds: float) -> int:
        """The first index at or after so many seconds since the first sample."""
        last = float(self.after_us[-1])
        after_us = seconds * MICROS
        if after_us > last:
            return int(np.ceil(self.index[-1] + (after_us - last) / MICROS * self.rate_hz))
        return int(np.ceil(np.interp(after_us, self.after_us, self.index) - 1e-6))


def axis(trace: Trace) -> Axis:
    """A trace's axis, from its manifest if it has ended (a pair a minute), else from its parts. Raises TraceError."""
    pairs = trace.time_base
    if trace.manifest:
        said = [*trace.manifest["time_base"], trace.manifest["ended"]]
        pairs = [trace.started, *(TimePair(**each) for each in said)]
    knots: list[TimePair] = []
    for pair in sorted(pairs, key=lambda each: each.index):
        if not knots or (pair.index > knots[-1].index and pair.monotonic_us > knots[-1].monotonic_us):
            knots.append(pair)
    index = np.array([pair.index for pair in knots], dtype=np.float64)
    after_us = np.array([pair.monotonic_us - knots[0].monotonic_us for pair in knots], dtype=np.float64)
    return Axis(index, after_us, trace.rate_hz)


def between(trace: Trace, from_s: float | None, to_s: float | None) -> tuple[int, int]:
    """The first index of a stretch and the one after its end, from seconds. Raises TraceError; ValueError if empty."""
    line = axis(trace)
    first = trace.started.index if from_s is None else max(line.at(from_s), trace.started.index)
    end = trace.end_index if to_s is None else min(line.at(to_s), trace.end_index)
    if first >= end:
        length = float(line.seconds(np.array([trace.end_index]))[0])
        raise ValueError(f"the trace has no samples between these times; it is {length:.3f} s long")
    return first, end
