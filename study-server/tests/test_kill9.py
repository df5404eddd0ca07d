# SPDX-License-Identifier: GPL-2.0-or-later
"""No acknowledged upload is lost, whatever fails meanwhile: the server, the database, or room on the disk."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import threading
from functools import partial
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.engine import make_url

from given_devices import PARQUET
from given_uploads import Underway, part_items, record_items, require_all, underway
from happe_study import migrations
from happe_study.base.database import Database
from happe_study.evidence.traces.folder import Folder
from postgres import cluster
from server_process import ServerProcess
from small_disk import SmallDisk
from uploader import Crowd, Item, Uploader
from world import World, fixed_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from postgres import Postgres

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("HAPPE_KILLS", "5"))  # on each kind of database; `tools/validate.sh long` has more
LONGEST_MOMENT = 0.06  # seconds: some uploads
CRASHES, FILLS, TRIES = -(-KILLS // 2), 2, 5
SMALL = 64 << 20  # bytes
PARTS, PART_BYTES = 8, 64 << 20  # half a GiB; less than half of it fits into memory
MOST_KIB = 200 << 10


def upload(server: ServerProcess, given: Underway) -> Crowd:
    """Upload records like four laptops, and two streams of parts, without end."""
    crowd, share = Crowd(), len(given.runs) // 4
    for number in range(4):
        codes = given.runs[number * share : (number + 1) * share]
        crowd.add(server.port, given.laptop.token, record_items(codes))
    for number in range(2):
        crowd.add(server.port, given.meter.token, part_items(given.trace, number, 2))
    return crowd


@pytest.fixture
def world_of_processes(database_url: str, tmp_path: Path) -> Iterator[tuple[World, ServerProcess]]:
    world, server = World(tmp_path, database_url), ServerProcess(tmp_path, database_url)
    yield world, server
    server.stop()
    world.close()


def test_what_was_acknowledged_outlives_kills(world_of_processes: tuple[World, ServerProcess]) -> None:
    # given
    world, server = world_of_processes
    given, random = underway(world, applications=3, participants=4), Random(9)
    server.start()
    crowd = upload(server, given)
    # when
    moments = threading.Event()
    for _ in range(KILLS):
        crowd.wait_for(more=random.randrange(1, 12))
        moments.wait(random.uniform(0, LONGEST_MOMENT))
        server.kill()
        server.start()
    crowd.wait_for(more=20)
    crowd.end()
    # then
    there = require_all(world, Folder(world.config.traces_folder), crowd.acknowledged())
    assert there["runs"] > KILLS
    assert there["traces"] > KILLS
    assert crowd.lost() > KILLS, "requests were cut off"


def test_a_full_disk_is_answered_with_507_and_nothing_is_half_stored(sqlite_url: str) -> None:
    # given
    folder = Path(make_url(sqlite_url).database or "").parent
    world = World(folder, sqlite_url)
    given = underway(world, applications=3, participants=2)
    world.close()
    server = ServerProcess(folder, sqlite_url, limits={"free_bytes": 0})
    server.disk = disk = SmallDisk(folder, SMALL)
    server.start()
    crowd = upload(server, given)
    crowd.wait_for(more=20)
    # when
    for _ in range(FILLS):
        disk.fill()
        crowd.wait_for_status(HTTPStatus.INSUFFICIENT_STORAGE, more=10)
        disk.make_room()
        crowd.wait_for(more=20)
    disk.fill()
    crowd.wait_for_status(HTTPStatus.INSUFFICIENT_STORAGE, more=10)
    server.kill()
    disk.make_room()
    server.start()
    crowd.wait_for(more=20)
    crowd.end()
    server.stop()
    disk.close()
    # then
    assert set(crowd.statuses()) <= {HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.INSUFFICIENT_STORAGE}
    require_all(world, Folder(world.config.traces_folder), crowd.acknowledged())
    world.close()


@pytest.fixture
def durable_postgres() -> Iterator[Postgres]:
    with cluster(durable=True) as made:
        yield made


def test_crashes_of_postgresql_are_answered_with_503_and_lose_nothing(
    durable_postgres: Postgres, tmp_path: Path
) -> None:
    # given
    database = Database(durable_postgres.url())
    migrations.upgrade(database, secrets=fixed_secrets())
    database.dispose()
    world, server = World(tmp_path, durable_postgres.url()), ServerProcess(tmp_path, durable_postgres.url())
    given, random = underway(world, applications=3, participants=2), Random(5)
    server.start()
    crowd = upload(server, given)
    # when
    for _ in range(CRASHES):
        crowd.wait_for(more=random.randrange(5, 30))
        durable_postgres.stop("immediate")
        crowd.wait_for_status(HTTPStatus.SERVICE_UNAVAILABLE, more=5)
        start_again(durable_postgres)
    crowd.wait_for(more=20)
    crowd.end()
    server.stop()
    # then
    assert set(crowd.statuses()) <= {HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.SERVICE_UNAVAILABLE}
    world.database.dispose()
    require_all(world, Folder(world.config.traces_folder), crowd.acknowledged())
    world.close()


def test_half_a_gibibyte_of_a_trace_takes_less_than_200_mib_of_memory(sqlite_url: str, tmp_path: Path) -> None:
    # given
    world = World(tmp_path, sqlite_url)
    server = ServerProcess(tmp_path, sqlite_url, workers=1, limits={"free_bytes": 0})
    given = underway(world, applications=2, participants=0)
    server.start()
    uploader = Uploader(server.port, given.meter.token, threading.Event())
    # when
    statuses = {uploader.send(item) for item in great_parts(f"/api/v1/traces/{given.trace}/parts")}
    uploader.close()
    peak_kib = server.peak_kib()
    server.stop()
    # then
    assert statuses == {HTTPStatus.CREATED}
    assert len(Folder(world.config.traces_folder).stored(given.trace)) == PARTS
    assert peak_kib < MOST_KIB, "gunicorn's master and its worker together"
    shutil.rmtree(world.config.traces_folder)
    world.close()


def start_again(crashed: Postgres) -> None:
    """Start a crashed cluster. PostgreSQL refuses to start until its old processes are dead."""
    for left in reversed(range(TRIES)):
        try:
            crashed.start()
        except AssertionError:
            if not left:
                raise
        else:
            return


def great_parts(folder: str) -> Iterator[Item]:
    """Parts of 64 MiB that differ in their last bytes. No part is in memory as a whole."""
    block, blocks = b"\x5a" * (1 << 20), (PART_BYTES >> 20) - 1
    start = b"PAR1" + block[4:]
    common = hashlib.sha256(start)
    for _ in range(blocks - 1):
        common.update(block)
    for number in range(PARTS):
        end = number.to_bytes(4) + block[12:] + (7).to_bytes(4, "little") + b"PAR1"
        digest = common.copy()
        digest.update(end)
        headers = {
            "Content-Digest": f"sha-256=:{base64.b64encode(digest.digest()).decode()}:",
            "If-None-Match": "*",
            "Content-Type": PARQUET,
            "Content-Length": str(PART_BYTES),
        }
        body = [start, *([block] * (blocks - 1)), end]
        yield Item(f"{folder}/{number}", partial(_same, headers, body))


def _same(headers: dict[str, str], body: list[bytes]) -> tuple[dict[str, str], list[bytes]]:
    return headers, body
