# SPDX-License-Identifier: GPL-2.0-or-later
"""A load of requests over real connections: so many clients, each one request after the other on one connection."""

from __future__ import annotations

import http.client
import multiprocessing
import statistics
import threading
import time
from dataclasses import dataclass, field

from patience import PATIENCE_S

PROCESSES = 2


@dataclass(frozen=True)
class Request:
    """A request; `expected` are the statuses that count as done."""

    method: str
    path: str
    body: bytes
    headers: dict[str, str]
    expected: tuple[int, ...] = (201,)


@dataclass
class Outcome:
    """What came of a load. Seconds."""

    elapsed: float = 0.0
    latencies: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Requests done a second."""
        return len(self.latencies) / self.elapsed

    def percentile(self, percent: int) -> float:
        """The latency that so many percent of the requests stay below."""
        return statistics.quantiles(self.latencies, n=100, method="inclusive")[percent - 1]


def run(address: tuple[str, int], requests: list[Request], clients: int) -> Outcome:
    """Send all requests to a server, shared out among the clients, who start together."""
    shares = [requests[number::clients] for number in range(clients)]
    results: multiprocessing.Queue[tuple[float, float, list[float], list[str]]] = multiprocessing.Queue()
    ready = multiprocessing.Barrier(PROCESSES)
    processes = [
        multiprocessing.Process(target=_process, args=(address, shares[number::PROCESSES], ready, results))
        for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    found = [results.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
    outcome = Outcome(max(end for _, end, _, _ in found) - min(start for start, _, _, _ in found))
    for _, _, latencies, errors in found:
        outcome.latencies += latencies
        outcome.errors += errors
    return outcome


def _process(address, shares, ready, results) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001 - of multiprocessing
    latencies: list[float] = []
    errors: list[str] = []
    threads = [threading.Thread(target=_client, args=(address, share, latencies, errors)) for share in shares]
    ready.wait()
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put((start, time.monotonic(), latencies, errors))


def _client(address: tuple[str, int], share: list[Request], latencies: list[float], errors: list[str]) -> None:
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE_S)
    for request in share:
        start = time.monotonic()
        try:
            connection.request(request.method, request.path, request.body, request.headers)
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as error:
            errors.append(repr(error))
            connection.close()
            continue
        if response.status in request.expected:
            latencies.append(time.monotonic() - start)
        else:
            errors.append(f"{response.status} for {request.method}")
    connection.close()
