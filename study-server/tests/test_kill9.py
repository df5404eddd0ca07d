# SPDX-License-Identifier: GPL-2.0-or-later
"""No acknowledged upload is lost, whatever fails meanwhile: the server or the database."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from random import Random

import pytest

from given_uploads import Underway, part_items, record_items, require_all, underway
from happe_study.base.database import Database
from happe_study.operations import migrations
from happe_study.study.traces.storage import Folder
from postgres import ON_BOTH, Postgres, cluster
from server_process import ServerProcess
from uploader import Crowd
from world import World, fixed_secrets

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("HAPPE_KILLS", "5"))  # on each kind of database; `tools/validate.sh long` has more
LONGEST_MOMENT = 0.06  # seconds: some uploads
CRASHES, TRIES = -(-KILLS // 2), 5


@pytest.fixture
def ending() -> Iterator[ExitStack]:
    """Ends what a test has begun, the last first: at `ending.close()`, and at the latest when the test fails."""
    with ExitStack() as stack:
        yield stack


def upload(server: ServerProcess, given: Underway, ending: ExitStack) -> Crowd:
    """Upload records like four laptops, and two streams of parts, until `ending`."""
    crowd, share = Crowd(), len(given.runs) // 4
    ending.callback(crowd.end)
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


@ON_BOTH
def test_what_was_acknowledged_outlives_kills(
    world_of_processes: tuple[World, ServerProcess], ending: ExitStack
) -> None:
    # given
    world, server = world_of_processes
    given, random = underway(world, applications=3, participants=4), Random(9)
    server.start()
    crowd = upload(server, given, ending)
    # when
    moments = threading.Event()
    for _ in range(KILLS):
        crowd.wait_for(more=random.randrange(1, 12))
        moments.wait(random.uniform(0, LONGEST_MOMENT))
        server.kill()
        server.start()
    crowd.wait_for(more=20)
    ending.close()
    # then
    there = require_all(world, Folder(world.config.traces_folder), crowd.acknowledged())
    assert there["runs"] > KILLS
    assert there["traces"] > KILLS
    assert crowd.lost() > KILLS, "requests were cut off"


@pytest.fixture
def durable_postgres() -> Iterator[Postgres]:
    with cluster(durable=True) as made:
        yield made


@pytest.mark.long
def test_crashes_of_postgresql_are_answered_with_503_and_lose_nothing(
    durable_postgres: Postgres, tmp_path: Path, ending: ExitStack
) -> None:
    # given
    database = Database(durable_postgres.url())
    migrations.upgrade(database, secrets=fixed_secrets())
    database.dispose()
    world, server = World(tmp_path, durable_postgres.url()), ServerProcess(tmp_path, durable_postgres.url())
    given, random = underway(world, applications=3, participants=2), Random(5)
    ending.callback(server.stop)
    server.start()
    crowd = upload(server, given, ending)
    # when
    for _ in range(CRASHES):
        crowd.wait_for(more=random.randrange(5, 30))
        durable_postgres.stop("immediate")
        crowd.wait_for_status(HTTPStatus.SERVICE_UNAVAILABLE, more=5)
        start_again(durable_postgres)
    crowd.wait_for(more=20)
    ending.close()
    # then
    assert set(crowd.statuses()) <= {HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.SERVICE_UNAVAILABLE}
    world.database.dispose()
    require_all(world, Folder(world.config.traces_folder), crowd.acknowledged())
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
