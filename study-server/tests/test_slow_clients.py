# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that send slowly, or never finish, delay nobody else: the real server, without a proxy."""

from __future__ import annotations

import json
import selectors
import threading
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import given_participants
import given_studies
from given_uploads import part_items, record_items, underway
from happe_study.operations.gathering import MOST_WAITING
from patience import PATIENCE_S, until
from server_process import ServerProcess
from slow import BODY, FORM, HEADER, Slow
from uploader import Uploader
from world import AT_ONCE, World

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

    from given_uploads import Underway

MANY = 200
FEW = 20
CROWD = 1000
ROUNDS = 3
LARGE = 2 << 20  # bytes
UNASKED = f"{FORM}{LARGE}\r\n\r\n"
PART = "PUT {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{headers}\r\n"


def ended(connections: list[socket.socket]) -> int:
    """The number of connections that the server has answered or closed."""
    with selectors.DefaultSelector() as selector:
        for each in connections:
            selector.register(each, selectors.EVENT_READ)
        return len(selector.select(0))


def ask(port: int, method: str, path: str, body: str | None = None, headers: dict[str, str] | None = None) -> int:
    """Send a request, and return the answer's status."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
        connection.request(method, path, body, headers or {})
        return connection.getresponse().status


def page(port: int) -> int:
    """Get an ordinary page, and return the answer's status."""
    return ask(port, "GET", "/sign-in")


@dataclass(frozen=True)
class Attacked:
    """A server, its devices, and slow clients."""

    port: int
    given: Underway
    slow: Slow


@pytest.fixture
def attacked(sqlite_url: str, tmp_path: Path) -> Iterator[Attacked]:
    world = World(tmp_path, sqlite_url)
    given = underway(world, applications=2, participants=1)
    world.close()
    server = ServerProcess(tmp_path, sqlite_url, workers=1, threads=2, limits={"free_bytes": 0})
    server.start()
    with Slow(server.port) as slow:
        yield Attacked(server.port, given, slow)
    server.stop()


def test_slow_headers_and_bodies_keep_nobody_waiting(attacked: Attacked) -> None:
    # given
    given, port, slow = attacked.given, attacked.port, attacked.slow
    laptop, meter = (Uploader(port, each.token, threading.Event()) for each in (given.laptop, given.meter))
    parts = part_items(given.trace, 0, 1)
    large = next(parts)
    lengths = {**large.make()[0], "Content-Length": str(LARGE)}
    headers = "".join(f"{name}: {value}\r\n" for name, value in lengths.items())
    # when
    slow.open(MANY, HEADER)
    slow.open(MANY, BODY)
    slow.open(FEW, PART.format(path=large.path, token=given.meter.token, headers=headers))
    # then
    for record, part, _round in zip(record_items(given.runs), parts, range(3), strict=False):
        slow.trickle()
        assert page(port) == HTTPStatus.OK
        assert laptop.send(record) == HTTPStatus.CREATED
        assert meter.send(part) == HTTPStatus.CREATED
    assert ended(slow.every) == 0
    laptop.close()
    meter.close()


def test_who_announces_too_much_is_refused_before_it_comes(attacked: Attacked) -> None:
    refused = attacked.slow.open(MANY, UNASKED)
    assert page(attacked.port) == HTTPStatus.OK
    until(lambda: ended(refused) == MANY, "a refusal")


def test_who_has_waited_for_longest_makes_room_for_others(attacked: Attacked) -> None:
    first = attacked.slow.open(MANY, HEADER)
    others = attacked.slow.open(MOST_WAITING, BODY)
    until(lambda: ended(first) == MANY, "room for others")
    assert page(attacked.port) == HTTPStatus.OK
    assert ended(others) <= 1, "the page made room for itself, and nobody else went"


def test_a_thousand_slow_sockets_keep_nobody_from_rating(sqlite_url: str, tmp_path: Path) -> None:
    # given two workers of eight threads, as by default, and somebody whose run has ended
    world = World(tmp_path, sqlite_url)
    study = given_studies.study(world, protocol=given_studies.small())
    row, _link = given_participants.participant(world, study)
    laptop = given_participants.laptop_with(world, study, row)
    code = given_participants.runs_of(world, row)[0].code
    given_participants.ended(world, code, laptop)
    server = ServerProcess(tmp_path, sqlite_url, limits={"free_bytes": 0}, **AT_ONCE)
    server.start()
    rating = json.dumps({"id": str(uuid4()), "rating": 4})
    headers = {"Authorization": f"Bearer {laptop.token}", "Content-Type": "application/json"}
    # when
    with Slow(server.port) as slow:
        slow.open(CROWD // 2, HEADER)
        slow.open(CROWD // 2, BODY)
        # then
        for _ in range(ROUNDS):
            slow.trickle()
            assert ask(server.port, "GET", "/healthz") == HTTPStatus.OK
            assert ask(server.port, "PUT", f"/api/v1/runs/{code}/rating", rating, headers) == HTTPStatus.OK
    server.stop()
    assert given_participants.runs_of(world, row)[0].rating == 4
    world.close()
