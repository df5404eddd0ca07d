# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure how long people wait who join a study at once, and who rate a run while others send slowly.

Two hundred people open their links, agree, answer the questionnaire and read the instructions, each on connections of
their own, all at once, on SQLite and on PostgreSQL. A step is one request and its answer. Then a thousand sockets send
a header or a body a byte at a time, while the server is asked for /healthz and for a rating, again and again.

The clients run on the same machine as the server.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from contextlib import closing
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import given_participants as people
from given_studies import small, study
from happe_study import migrations
from happe_study.base.database import Database
from joining import PLACES, all_join, invited
from postgres import cluster
from server_process import ServerProcess
from serving import cpu_of
from slow import BODY, HEADER, Slow
from world import AT_ONCE, World, fixed_secrets

if TYPE_CHECKING:
    from collections.abc import Callable

    from given_devices import Enrolled

STEP_SECONDS = 1.5  # p95 of a step
ANSWER_SECONDS = 1.0  # the slowest answer during the attack
SOCKETS = 1000
ROUNDS = 20
WHO = ("server", "database", "clients")


def crowd(folder: Path, url: str, database: Callable[[], list[int]]) -> dict[str, float]:
    """Two hundred people join; seconds of a step, and the milliseconds of processor time that it takes.

    `database`: the processes of the database, if it has any.
    """
    world = migrated(folder, url)
    _study, links = invited(world, PLACES)
    world.close()
    server = ServerProcess(folder, url, jobs=1)
    server.start()

    def spent() -> list[float]:
        processes = (server.pids(), database(), [os.getpid()])
        return [sum(map(cpu_of, pids)) for pids in processes]

    try:
        before = spent()
        joined = all_join(server.port, links)
        after = spent()
    finally:
        server.stop()
    if not all(each.placed for each in joined):
        raise SystemExit("somebody got no place")
    took = sorted(step for each in joined for step in each.took)
    return {
        "steps": len(took),
        "median": statistics.median(took),
        "p95": statistics.quantiles(took, n=20)[-1],
        "slowest": took[-1],
        **{
            f"CPU of {who} (ms)": 1000 * (end - begin) / len(took)
            for who, begin, end in zip(WHO, before, after, strict=True)
        },
    }


def attacked(folder: Path, url: str) -> dict[str, float]:
    """Somebody rates while a thousand sockets send slowly; the slowest answers in seconds."""
    world = migrated(folder, url)
    made = study(world, protocol=small())
    row, _token = people.participant(world, made)
    laptop = people.laptop_with(world, made, row)
    code = people.runs_of(world, row)[0].code
    people.ended(world, code, laptop)
    world.close()
    server = ServerProcess(folder, url, limits={"free_bytes": 0}, jobs=1, **AT_ONCE)
    server.start()
    rating = json.dumps({"id": str(uuid4()), "rating": 4})
    took: dict[str, list[float]] = {"healthz": [], "rating": []}
    try:
        with Slow(server.port) as slow:
            slow.open(SOCKETS // 2, HEADER)
            slow.open(SOCKETS // 2, BODY)
            for _ in range(ROUNDS):
                slow.trickle()
                took["healthz"].append(asked(server.port, "GET", "/healthz"))
                took["rating"].append(asked(server.port, "PUT", f"/api/v1/runs/{code}/rating", rating, laptop))
    finally:
        server.stop()
    return {f"slowest {name}": max(each) for name, each in took.items()}


def asked(port: int, method: str, path: str, body: str | None = None, device: Enrolled | None = None) -> float:
    """How long an answer takes."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {device.token}"} if device else {}
    began = time.monotonic()
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request(method, path, body, headers)
        status = connection.getresponse().status
    if status != HTTPStatus.OK:
        raise SystemExit(f"{method} {path} was answered {status}")
    return time.monotonic() - began


def migrated(folder: Path, url: str) -> World:
    """A server of its own."""
    folder.mkdir()
    database = Database(url)
    migrations.upgrade(database, secrets=fixed_secrets())
    database.dispose()
    return World(folder, url)


def main() -> int:
    """Measure and print; with --judge the exit status says whether the bounds are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judge", action="store_true")
    judge = parser.parse_args().judge
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name, cluster() as server:
        for kind in ("sqlite", "postgresql"):
            database = server.pids if kind == "postgresql" else list[int]
            for what, measure in (("crowd", partial(crowd, database=database)), ("attacked", attacked)):
                folder = Path(name, f"{what}-{kind}")
                url = f"sqlite:///{folder / 'server.db'}"
                if kind == "postgresql":
                    server.execute(f"CREATE DATABASE {what}")
                    url = server.url(what)
                found[f"{what} {kind}"] = measure(folder, url)
    for title, figures in found.items():
        print(f"{title:22}", ", ".join(f"{name} {value:.3g}" for name, value in figures.items()))
    slow = [each["p95"] > STEP_SECONDS for title, each in found.items() if title.startswith("crowd")]
    slow += [max(each.values()) > ANSWER_SECONDS for title, each in found.items() if title.startswith("attacked")]
    return int(judge and any(slow))


if __name__ == "__main__":
    sys.exit(main())
