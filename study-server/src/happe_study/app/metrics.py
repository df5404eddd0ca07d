# SPDX-License-Identifier: GPL-2.0-or-later
"""Counters for Prometheus, summed over gunicorn's workers by its master. They tell no study, run or condition.

Neither bytes nor times of uploads are counted: the size of a single one, read at a quiet time, can reveal its
condition.

prometheus_client decides when it is imported whether its values are shared among processes, by the environment. So it
is imported when metrics are made, after `share` has set the environment.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from wsgiref.simple_server import WSGIServer

FOLDER = ".metrics"
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0)

NAMES = {
    "happe_requests_total": "Requests answered, by method, route pattern and status",
    "happe_request_seconds": "From when a request is there to the last byte of its answer sent",
    "happe_writers_busy": "Threads that write to the database or wait for their turn",
}


class Metrics:
    """The metrics of one application. With the environment of `share`, of all its processes."""

    def __init__(self) -> None:
        """Make every metric."""
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram  # noqa: PLC0415 - see above

        self.registry = CollectorRegistry()
        self._requests = Counter(*_named("happe_requests_total"), ["method", "route", "status"], registry=self.registry)
        self._seconds = Histogram(
            *_named("happe_request_seconds"), ["method", "route"], registry=self.registry, buckets=SECONDS
        )
        self._writers = Gauge(*_named("happe_writers_busy"), registry=self.registry, multiprocess_mode="livesum")

    def answered(self, method: str, route: str, status: int, seconds: float | None) -> None:
        """Count a request, and its time if that may be known."""
        self._requests.labels(method, route, str(status)).inc()
        if seconds is not None:
            self._seconds.labels(method, route).observe(seconds)

    def busy(self, change: int) -> None:
        """Count a writer that came (+1) or went (-1)."""
        self._writers.inc(change)


def _named(name: str) -> tuple[str, str]:
    return name, NAMES[name]


def share(data: Path) -> Path:
    """A new folder in the data, in which the processes to come keep what they count. Those of the dead go."""
    every = data / FOLDER
    every.mkdir(mode=0o700, exist_ok=True)
    for left in every.iterdir():
        if not Path("/proc", left.name).exists() or left.name == str(os.getpid()):
            shutil.rmtree(left, ignore_errors=True)
    folder = every / str(os.getpid())
    folder.mkdir(mode=0o700)
    os.environ[VARIABLE] = str(folder)
    return folder


def serve(folder: Path, host: str, port: int) -> tuple[WSGIServer, threading.Thread]:
    """Answer GET /metrics with the sums over all processes, in a thread of this one. Raises OSError."""
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415 - see above
    from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415 - see above

    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call] # it has no types
    return start_http_server(port, host, registry)


def forget(folder: Path, pid: int) -> None:
    """Take what only counts while a process lives out of the sums."""
    from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415 - see above

    mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call] # it has no types


def end(folder: Path) -> None:
    """Remove the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    os.environ.pop(VARIABLE, None)
