# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures the study server: uploads beside bare inserts of the same records, and pages beside a static file.

Both servers have gunicorn's workers and threads as shipped. A bare insert is one row in one transaction: Flask parses
the JSON and checks nothing. Rounds of the two alternate; a ratio is the median over the rounds.
"""

import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from uuid import uuid4

from flask import Flask, request
from sqlalchemy import MetaData
from sqlalchemy.orm import Mapped, mapped_column

import given_power
import given_profiles
import given_uploads
import records
from happe_study.base.database import Base, Database, table
from happe_study.model.rights import Role
from happe_study.operations import migrations
from patience import PATIENCE_S
from postgres import cluster
from server_process import ServerProcess
from world import World, fixed_secrets

Ask = tuple[str, str, bytes, dict[str, str]]  # method, path, body, headers
CLIENTS, ROUNDS, UPLOADS = 8, 5, 160  # uploads in a round
PLAYERS, LOOKS = 40, 20  # participants with ten complete runs each; looks at a page in a round
PAGES = ("", "/participants", "/checks", "/profiles", "/profiles/reviews", "/profiles/{}/torcs")
JSON = {"Content-Type": "application/json"}


class Reference(Base):
    """A table that the study server does not have."""

    __tablename__ = "reference_documents"
    metadata = MetaData()

    id: Mapped[int] = mapped_column(primary_key=True)
    run: Mapped[str]
    content: Mapped[bytes]


def bare(url: str) -> Flask:
    """Make the application of bare inserts. gunicorn calls it."""
    app, database = Flask("bare"), Database(url)

    @app.put("/documents")
    def keep() -> tuple[dict[str, bool], int]:
        with database.writing() as session:
            session.add(Reference(run=request.get_json()["run"], content=request.get_data()))
        return {"stored": True}, 201

    return app


def sent(port: int, asks: list[Ask]) -> list[float]:
    """Send requests by eight clients on connections of their own, and return each one's seconds."""
    took: list[float] = []

    def client(mine: list[Ask]) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        for ask in mine:
            began = time.perf_counter()
            connection.request(*ask)
            answer = connection.getresponse()
            said = answer.read()
            if answer.status >= 300:  # noqa: PLR2004 - neither done nor created
                raise SystemExit(f"{ask[1]}: {answer.status} {said[:200]!r}")
            took.append(time.perf_counter() - began)
        connection.close()

    with ThreadPoolExecutor(CLIENTS) as threads:
        list(threads.map(client, [asks[number::CLIENTS] for number in range(CLIENTS)]))
    return took


def beside(ours: Callable[[int], float], base: Callable[[int], float]) -> tuple[float, float, float]:
    """Measure both in rounds in turn, the first uncounted. Return the medians of each, and of their ratios."""
    pairs = [(ours(number), base(number)) for number in range(ROUNDS + 1)][1:]
    first, second = (statistics.median(each) for each in zip(*pairs, strict=True))
    return first, second, statistics.median(a / b for a, b in pairs)


def migrated(folder: Path, url: str) -> World:
    """A server's folder and database."""
    folder.mkdir()
    database = Database(url)
    migrations.upgrade(database, secrets=fixed_secrets())
    table(Reference).create(database.engine)
    database.dispose()
    return World(folder, url)


def uploads(folder: Path, url: str, stop: ExitStack) -> None:
    """Print how many uploads a second there are beside bare inserts."""
    world = migrated(folder, url)
    there = given_uploads.underway(world, applications=2, participants=-(-(ROUNDS + 1) * UPLOADS // 128))
    headers = JSON | {"Authorization": f"Bearer {there.laptop.token}"}
    asks: list[Ask] = []
    for number, code in enumerate(there.runs[: (ROUNDS + 1) * UPLOADS]):
        record = records.make(code, 120, number % 16, client_id=str(uuid4()))
        path = f"/api/v1/runs/{code}/record/{record['id']}"
        asks.append(("PUT", path, records.encode(record), headers))
    world.close()
    server = ServerProcess(folder, url)
    server.start()
    stop.callback(server.stop)
    listening = stop.enter_context(socket.create_server(("127.0.0.1", 0)))
    port, fd = listening.getsockname()[1], listening.fileno()
    options = ["-b", f"fd://{fd}", "-w", str(server.config.workers), "--threads", str(server.config.threads)]
    command = [sys.executable, "-m", "gunicorn", "--chdir", str(Path(__file__).parent), "--log-level", "error"]
    process = subprocess.Popen([*command, *options, f"server:bare({url!r})"], pass_fds=[fd])
    stop.callback(process.wait)
    stop.callback(process.terminate)

    def per_second(at: int, asks: list[Ask]) -> float:
        began = time.perf_counter()
        sent(at, asks)
        return UPLOADS / (time.perf_counter() - began)

    rounds = [asks[number * UPLOADS : (number + 1) * UPLOADS] for number in range(ROUNDS + 1)]
    same = [[("PUT", "/documents", ask[2], JSON) for ask in each] for each in rounds]
    ours, base, ratio = beside(
        lambda number: per_second(server.port, rounds[number]), lambda number: per_second(port, same[number])
    )
    print(f"{url.partition(':')[0]}: {ours:.0f} uploads a second, {base:.0f} bare inserts: {ratio:.2f}")


def pages(folder: Path, stop: ExitStack) -> None:
    """Print what 95 of 100 looks at each page take, beside a static file."""
    url = f"sqlite:///{folder / 'server.db'}"
    world = migrated(folder, url)
    code, measured = given_profiles.taught(world, players=PLAYERS)[0].code, given_power.measured_run(world)
    paths = [f"/studies/small{path.format(code)}" for path in PAGES] + [measured.path]
    headers = {"Authorization": f"Bearer {world.account(*Role)}"}
    world.close()
    server = ServerProcess(folder, url)
    server.start()
    stop.callback(server.stop)

    def p95(path: str) -> Callable[[int], float]:
        asks: list[Ask] = [("GET", path, b"", headers)] * LOOKS
        return lambda _number: statistics.quantiles(sent(server.port, asks), n=20)[-1] * 1000

    for path in paths:
        ours, base, ratio = beside(p95(path), p95("/static/happe.css"))
        print(f"{path:40} p95 {ours:5.0f} ms, a static file {base:4.0f} ms: {ratio:.1f}")


def main() -> None:
    """Measure on new databases whose commits reach the disk."""
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=Path.cwd()) as name:
        for kind in ("sqlite", "postgresql"):
            with ExitStack() as stop:
                folder = Path(name, kind).absolute()
                url = f"sqlite:///{folder / 'server.db'}"
                if kind == "postgresql":
                    url = stop.enter_context(cluster(durable=True)).url()
                uploads(folder, url, stop)
        with ExitStack() as stop:
            pages(Path(name, "pages").absolute(), stop)


if __name__ == "__main__":
    main()
