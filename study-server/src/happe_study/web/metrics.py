# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics for Prometheus. gunicorn's master adds up those of its workers. They name no study, run or condition.

They count neither bytes nor times of uploads: somebody who reads them at a quiet time could learn the size of a single
upload, which can reveal its condition.

At its import, prometheus_client reads from the environment whether processes share its values. So this module imports
it only when it makes metrics, after `share` has set the environment.
"""

import fcntl
import os
import secrets
import shutil
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from wsgiref.simple_server import WSGIServer

FOLDER = ".metrics"
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


@dataclass(frozen=True)
class Shared:
    """The folder in which a server's processes store their counts. Its lock shows that the master is alive."""

    folder: Path
    held: int  # a descriptor


def share(data: Path) -> Shared:
    """Make a folder in the data folder for the processes' counts, and remove those of dead servers.

    A lock marks the folder of a living server: process ids may be equal in containers that share a volume.
    """
    every = data / FOLDER
    every.mkdir(mode=0o700, exist_ok=True)
    for left in every.iterdir():
        _remove_unless_held(left)
    while (shared := _made(every / secrets.token_hex(8))) is None:
        pass
    os.environ[VARIABLE] = str(shared.folder)
    return shared


def _made(folder: Path) -> Shared | None:
    """Make and lock a folder. None if another starting server removed it before the lock, as a dead server's."""
    folder.mkdir(mode=0o700)
    held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    fcntl.flock(held, fcntl.LOCK_EX)
    if folder.exists():
        return Shared(folder, held)
    os.close(held)
    return None


def _remove_unless_held(folder: Path) -> None:
    with suppress(FileNotFoundError):
        held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(held)


def serve(shared: Shared, host: str, port: int) -> tuple[WSGIServer, threading.Thread]:
    """Answer GET /metrics with the sums over all processes, in a thread of this one. Raises OSError."""
    from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415 - see above
    from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415 - see above

    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(shared.folder))  # type: ignore[no-untyped-call] # it has no types
    return start_http_server(port, host, registry)


def forget(shared: Shared, pid: int) -> None:
    """Remove a dead process's gauges from the sums."""
    from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415 - see above

    mark_process_dead(pid, str(shared.folder))  # type: ignore[no-untyped-call] # it has no types


def end(shared: Shared) -> None:
    """Remove the folder of the counts."""
    shutil.rmtree(shared.folder, ignore_errors=True)
    os.close(shared.held)
    os.environ.pop(VARIABLE, None)
