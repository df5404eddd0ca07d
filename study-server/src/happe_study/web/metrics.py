# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics for Prometheus. gunicorn's master adds up those of its workers. They name no study, run or condition.

They count neither bytes nor times of uploads: somebody who reads them at a quiet time could learn the size of a single
upload, which can reveal its condition.

At its import, prometheus_client reads from the environment whether processes share its values. So this module imports
it only when it makes metrics, after `share` has set the environment.
"""

import os
import shutil
import tempfile
import threading
from pathlib import Path
from wsgiref.simple_server import WSGIServer

PREFIX = "happe-metrics-"
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0, 600.0)


class Metrics:
    """The metrics of an application. After `share`, they are the sums over all its processes."""

    def __init__(self) -> None:
        """Make every metric."""
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram  # noqa: PLC0415 - see above

        self.registry = CollectorRegistry()
        answered = "Requests answered, by method, route pattern and status"
        self._requests = Counter(
            "happe_requests_total", answered, ["method", "route", "status"], registry=self.registry
        )
        took = "Seconds from a request's arrival to the last byte of its answer"
        self._seconds = Histogram(
            "happe_request_seconds", took, ["method", "route"], registry=self.registry, buckets=SECONDS
        )
        busy = "Threads that write to the database or wait for their turn"
        self._writers = Gauge("happe_writers_busy", busy, registry=self.registry, multiprocess_mode="livesum")

    def answered(self, method: str, route: str, status: int, seconds: float | None) -> None:
        """Count a request, and its time unless that would reveal an upload's size (None)."""
        self._requests.labels(method, route, str(status)).inc()
        if seconds is not None:
            self._seconds.labels(method, route).observe(seconds)

    def busy(self, change: int) -> None:
        """Count a writer that came (+1) or went (-1)."""
        self._writers.inc(change)


def share() -> Path:
    """Make a folder for the processes' counts, among the system's temporary files."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
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
    """Remove a dead process's gauges from the sums."""
    from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415 - see above

    mark_process_dead(pid, str(folder))  # type: ignore[no-untyped-call] # it has no types


def end(folder: Path) -> None:
    """Remove the folder of the counts."""
    shutil.rmtree(folder, ignore_errors=True)
    os.environ.pop(VARIABLE, None)
