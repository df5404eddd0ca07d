# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a recording's figures as OpenMetrics, with prometheus_client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.metrics_core import Metric

    from happe_power.serving.state import State

__all__ = ["CONTENT_TYPE_LATEST", "written"]

GAUGES = {
    "happe_power_watts": ("Power of the latest second.", "watts", 1.0),
    "happe_power_rate_hertz": ("Samples of the latest second.", "rate_hz", 1.0),
    "happe_power_spool_bytes": ("Size of all traces on the disk.", "spool_bytes", 1.0),
    "happe_power_clock_offset_seconds": ("How far the server's clock is ahead.", "clock_offset_us", 1e-6),
    "happe_power_clock_uncertainty_seconds": ("Bound of that offset.", "clock_uncertainty_us", 1e-6),
}
COUNTERS = {
    "happe_power_energy_joules": ("Energy since the recording began, without gaps.", "energy_j"),
    "happe_power_samples": ("Samples that were kept.", "samples"),
    "happe_power_lost_samples": ("Samples that were lost.", "lost"),
}


class Collected:
    """A recording as a collector for a registry of prometheus_client."""

    def __init__(self, state: State | None) -> None:
        """Take a recording's state; None: there is no recording."""
        self._state = state

    def collect(self) -> Iterator[Metric]:
        """Yield each metric that has a value."""
        state = self._state
        yield GaugeMetricFamily(
            "happe_power_recording", "Whether a recording is in progress.", state.runs if state else 0
        )
        if state is None:
            return
        labels = {"trace": state.trace, "study": state.study, "kind": state.kind, "instrument": state.instrument}
        yield InfoMetricFamily("happe_power_trace", "What is recorded.", labels)
        yield GaugeMetricFamily("happe_power_gaps", "Gaps up to the last closed part.", state.gap_count)
        for name, (says, key, scale) in GAUGES.items():
            if state.runs and state.figures.get(key) is not None:
                yield GaugeMetricFamily(name, says, state.figures[key] * scale)
        for name, (says, key) in COUNTERS.items():
            if state.figures.get(key) is not None:
                yield CounterMetricFamily(name, says, max(0, state.figures[key]))


def written(state: State | None) -> bytes:
    """The text of a recording's metrics."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collected(state))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call] # it has no types
    return text
