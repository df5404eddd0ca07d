# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure every page and every GET of the API on a very large study (large_study.py), beside a bare page.

Eight clients on connections of their own ask one route at a time, with gunicorn's workers and threads as `happe-server
run` starts them. In each round come all routes, in another order; the bare page is a static file of the same server in
the same rounds. One client asks once for the long answers (exports and the verification of the whole audit log),
which are judged only by the server's memory.

usage: pages.py [--database KIND] [--state STATE] [--rounds N] [--requests N] [--check] [--judge]; --help has more
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from sqlalchemy import select

import large_study
import load
import serving
from happe_study.access.rights import Role
from happe_study.base.config import Config
from happe_study.design.study import Study
from happe_study.evidence.checks.job import CHECKS
from happe_study.jobs import services as jobs
from happe_study.jobs.models import OPEN, JobState
from postgres import Postgres
from routes import BARE, Asking, csrf
from world import AT_ONCE, World

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from load import Outcome, Request
    from routes import Route
    from serving import Server

DATABASES = ("sqlite", "postgresql")
STATES = ("blinded", "unblinded")
CLIENTS = 8
LOOKS = 40  # at each route before it is measured, so that every worker has kept what it keeps
MOST_MS = 300.0  # that 95 of 100 requests may take
MOST_GROWTH = 1.1  # of a process's memory, from the first quarter of the measurement to the last
MOST_LONG_BYTES = 100 << 20  # that a process may grow by for what is long
SIGNED_IN_SECONDS = 200  # before the password is given again: some pages want it to be fresh
LONG = {"audit_pages.verify", "audit.verify_entries"}
# Reports and plans are asked for first, and made in minutes.
NOT_THERE = {"report_pages.made", "report_pages.download", "planning_pages.download"}
EXPORTS = ("participants", "runs", "ratings", "profiles", "learning_events")
WITHOUT_LIMITS = {"login": "100000 per minute", "participant": "10000000 per minute"}


@dataclass(frozen=True)
class Row:
    """What was measured of a route. `ratio` is of its p95 to the bare page's in the same rounds."""

    route: str
    p50_ms: float
    p95_ms: float
    ratio: float
    cpu_ms: float  # of the server's processes, a request; not of PostgreSQL's
    bytes: int  # of the longest answer that was looked at
    errors: int


@dataclass(frozen=True)
class Long:
    """What was asked for once, and by how much the largest process grew."""

    what: str
    seconds: float
    bytes: int
    growth: int


@dataclass
class Result:
    """What was measured on a kind of database in a state of the study. Memory is in bytes."""

    database: str
    state: str
    rows: list[Row]
    long: list[Long]
    first_bytes: int  # the most that a process had in the first quarter of the measurement
    last_bytes: int
    errors: list[str] = field(default_factory=list)

    @property
    def misses(self) -> list[str]:
        """What was aimed for and missed."""
        slow = [f"{row.route}: p95 {row.p95_ms:.0f} ms" for row in self.rows if row.p95_ms > MOST_MS]
        grown = [f"{each.what}: {each.growth >> 20} MiB more" for each in self.long if each.growth > MOST_LONG_BYTES]
        flat = self.last_bytes <= self.first_bytes * MOST_GROWTH
        return [*slow, *grown, *([] if flat else ["memory grows"]), *self.errors[:5]]


def main(arguments: Sequence[str]) -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description="Measure every page on a very large study.")
    parser.add_argument("--participants", type=int, default=large_study.PARTICIPANTS, help="a multiple of 16")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--requests", type=int, default=48, help="to each route in a round")
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--state", choices=STATES, action="append")
    parser.add_argument("--route", default="", help="only routes whose name begins so")
    parser.add_argument("--check", action="store_true", help="meanwhile jobs check the large study, one after another")
    parser.add_argument("--keep", type=Path, help="a folder for the databases, used again if they exist")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--judge", action="store_true", help="exit with 1 if an aim is missed")
    given = parser.parse_args(arguments)
    missed = False
    with tempfile.TemporaryDirectory(prefix="happe-bench-") as folder:
        for kind in given.database or DATABASES:
            for state in given.state or STATES:
                result = measure(kind, state, Path(folder), given)
                missed |= bool(result.misses)
                print(json.dumps(asdict(result) | {"misses": result.misses})) if given.json else _print(result)
    return int(given.judge and missed)


def measure(kind: str, state: str, folder: Path, given: argparse.Namespace) -> Result:
    """Measure on a kind of database, with the study in a state."""
    with _made(kind, state, folder, given) as config:
        wish = Wish(kind, state, given.rounds, given.requests, given.route, not given.route, given.check)
        return measured(config, folder, wish)


def measured(config: Config, folder: Path, wish: Wish) -> Result:
    """Measure on a server of this configuration, whose log goes to a folder."""
    server, world = serving.start("study", config, folder), World(config.data, config.url)
    try:
        return Measuring(server, Asking(world, server.address), wish, world).result()
    finally:
        world.close()
        server.stop()


@contextmanager
def _made(kind: str, state: str, folder: Path, given: argparse.Namespace) -> Iterator[Config]:
    """The configuration of a server with a very large study."""
    kept: Path = given.keep or folder
    data = kept / f"{kind}-{state}"
    cluster = Postgres(kept / f"cluster-{state}", durable=True) if kind == "postgresql" else None
    url = cluster.url() if cluster else f"sqlite:///{data / 'server.db'}"
    try:
        if not data.exists():
            large_study.make(data, url, participants=given.participants, unblinded=state == "unblinded")
        yield configured(data, url)
    finally:
        if cluster:
            cluster.stop("fast")


def configured(data: Path, url: str) -> Config:
    """A server of this data on free ports. Workers and threads are as they come, limits are not reached."""
    listens = {"listen": serving.free_address(), "metrics_listen": "off", "limits": WITHOUT_LIMITS}
    return Config.model_validate({"data": data, "database_url": url, **AT_ONCE, **listens})


@dataclass(frozen=True)
class Wish:
    """What to measure: so many rounds of so many requests to each route, or to those whose name begins so."""

    database: str
    state: str
    rounds: int
    requests: int
    route: str = ""
    long: bool = True  # what is long by nature, too
    check: bool = False  # while jobs check the large study


class Measuring:
    """All routes of a server in rounds, and its memory after each."""

    def __init__(self, server: Server, asking: Asking, wish: Wish, world: World) -> None:
        """Nothing is measured yet."""
        self._server, self._asking, self._wish, self._world = server, asking, wish, world
        self._outcomes: defaultdict[str, list[Outcome]] = defaultdict(list)
        self._cpu_seconds: defaultdict[str, float] = defaultdict(float)
        self._resident: list[int] = []
        self._bytes: dict[str, int] = {}
        self._signed_in = 0.0
        self._errors: list[str] = []
        self._refused: set[str] = set()  # before unblinding

    def result(self) -> Result:
        """Measure."""
        state = self._wish.state
        self._first_look(state)
        for number in range(self._wish.rounds):
            routes = self._routes(self._wish.requests)
            Random(number).shuffle(routes)  # noqa: S311 - no secret
            for route in routes:
                if route.endpoint not in self._refused and route.endpoint.startswith((self._wish.route, BARE)):
                    self._round(route)
        quarter = -(-len(self._resident) // 4)
        first, last = (max(part, default=0) for part in (self._resident[:quarter], self._resident[-quarter:]))
        errors = [f"{name}: {error}" for name, each in self._outcomes.items() for one in each for error in one.errors]
        long = [*self._checks()] if self._wish.check else []
        long += [*self._looks(), *self._exports(state)] if self._wish.long else []
        return Result(self._wish.database, state, self._rows(), long, first, last, self._errors + errors)

    def _first_look(self, state: str) -> None:
        """Ask for each route by one client, which is not counted. It skips routes that the study's state refuses."""
        for route in self._routes(LOOKS):
            looks = [answered(self._server.address, each) for each in route.requests]
            self._bytes[route.endpoint] = max(length for _status, length in looks)
            if state == "blinded" and {status for status, _length in looks} == {HTTPStatus.CONFLICT}:
                self._refused.add(route.endpoint)
                continue
            wrong = [status for status, _length in looks if status not in route.requests[0].expected]
            self._errors += [f"{status} for {route.path}" for status in wrong]

    def _routes(self, many: int) -> list[Route]:
        """Requests that nobody has sent yet, except for those that are long."""
        if time.monotonic() - self._signed_in > SIGNED_IN_SECONDS:
            self._asking.sign_in()
            self._signed_in = time.monotonic()
        return [route for route in self._asking.routes(many) if route.endpoint not in LONG | NOT_THERE]

    def _keep_checking(self) -> None:
        """Ask for the next check of the large study when the one before is done."""
        with self._world.database.writing() as session:
            study = session.scalars(select(Study.id).where(Study.name == large_study.LARGE)).one()
            every = jobs.of_study(session, study, CHECKS, results=False)
            self._errors += [f"a check: {each.failed}" for each in every[:1] if each.failed]
            if not every or every[0].state not in OPEN:
                jobs.ask(session, CHECKS, "a benchmark", study, conditions=False)

    def _checks(self) -> Iterator[Long]:
        """How long the last check took that is done, and the bytes of its result."""
        with self._world.database.reading() as session:
            study = session.scalars(select(Study.id).where(Study.name == large_study.LARGE)).one()
            every = [job for job in jobs.of_study(session, study, CHECKS) if job.state == JobState.DONE]
        if not every:
            self._errors.append("no check was done meanwhile")
        for job in every[:1]:
            seconds = ((job.finished_us or 0) - (job.started_us or 0)) / 1e6
            yield Long("a check as a job, meanwhile", seconds, len(json.dumps(job.result)), 0)

    def _round(self, route: Route) -> None:
        if self._wish.check:
            self._keep_checking()
        before = self._server.cpu_seconds()
        self._outcomes[route.endpoint].append(load.run(self._server.address, route.requests, CLIENTS))
        self._cpu_seconds[route.endpoint] += self._server.cpu_seconds() - before
        self._resident.append(self._server.resident_bytes())

    def _rows(self) -> list[Row]:
        if not self._outcomes:
            return []
        bare = self._latency(BARE, 95)
        return [
            Row(
                route=name,
                p50_ms=self._latency(name, 50) * 1000,
                p95_ms=self._latency(name, 95) * 1000,
                ratio=self._latency(name, 95) / bare,
                cpu_ms=self._cpu_seconds[name] * 1000 / (len(outcomes) * self._wish.requests),
                bytes=self._bytes[name],
                errors=sum(len(each.errors) for each in outcomes),
            )
            for name, outcomes in self._outcomes.items()
        ]

    def _latency(self, name: str, percent: int) -> float:
        """What so many percent of a route's requests, of all rounds, stay below."""
        every = [latency for each in self._outcomes[name] for latency in each.latencies]
        return statistics.quantiles(every, n=100, method="inclusive")[percent - 1] if len(every) > 1 else 0.0

    def _looks(self) -> Iterator[Long]:
        for route in self._asking.routes(1):
            if route.endpoint in LONG:
                yield self._once(route.endpoint, route.requests[0])

    def _exports(self, state: str) -> Iterator[Long]:
        cookie, token = csrf(self._server.address, f"{Role.ANALYST}@example.org")
        headers = {"Cookie": cookie, "X-CSRFToken": token}
        for table in EXPORTS if state == "unblinded" else EXPORTS[:3]:
            path = f"/api/v1/studies/{large_study.LARGE}/exports/{table}"
            yield self._once(f"export of {table}", load.Request("POST", path, b"", headers, (200,)))

    def _once(self, what: str, request: Request) -> Long:
        before, start = self._server.peak_bytes(), time.monotonic()
        status, size = answered(self._server.address, request)
        if status not in request.expected:
            self._errors.append(f"{status} for {what}")
        return Long(what, time.monotonic() - start, size, self._server.peak_bytes() - before)


def answered(address: tuple[str, int], request: Request) -> tuple[int, int]:
    """The status of an answer and its length."""
    connection = http.client.HTTPConnection(*address, timeout=600)
    connection.request(request.method, request.path, request.body, request.headers)
    answer, length = connection.getresponse(), 0
    while piece := answer.read(1 << 20):
        length += len(piece)
    connection.close()
    return answer.status, length


def _print(result: Result) -> None:
    print(f"{result.database}, {result.state}: {CLIENTS} clients")
    print(f"  {'':52} {'p50':>9} {'p95':>9} {'to bare':>8} {'CPU':>9} {'bytes':>9}")
    for row in sorted(result.rows, key=lambda row: -row.p95_ms):
        times = f"{row.p50_ms:6.1f} ms {row.p95_ms:6.1f} ms {row.ratio:8.1f} {row.cpu_ms:6.1f} ms"
        print(f"  {row.route:52} {times} {row.bytes:9}{f'  {row.errors} errors' if row.errors else ''}")
    for each in result.long:
        print(f"  {each.what:52} {each.seconds:6.1f} s  {each.bytes:9} bytes  {each.growth >> 20} MiB more")
    first, last = result.first_bytes >> 20, result.last_bytes >> 20
    print(f"  the largest process: {first} MiB in the first quarter, {last} in the last")
    for miss in result.misses:
        print(f"  MISSED: {miss}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
