# SPDX-License-Identifier: GPL-2.0-or-later
"""The server refuses malformed, oversized, forged and hostile requests correctly, and changes nothing.

The requests are in data/bad_requests.jsonl; bad_requests.py explains the file. One server on each kind of database
gets all of them.
"""

import hashlib
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import TextClause, text
from werkzeug.test import TestResponse

from bad_requests import CASES, Sent, sent
from happe_study.operations.migrations.tables import Base
from happe_study.web.every_request import HEADERS
from postgres import Postgres
from scene import UNLIMITED, Scene, furnish
from world import World, sqlite_copy

TABLES = [table for table in Base.metadata.sorted_tables if table.name != "rate_hits"]  # which also counts refusals
MOST_ECHOED = 80  # characters of a request that an answer may repeat in one piece
LEAST_CASES = 250
LOOKS = 20  # after so many requests, look at everything that the server stores
FIELDS = {"about", "who", "method", "path", "headers", "json", "text", "base64", "repeat", "status", "type", "at"}
BODIES = {"json", "text", "base64", "repeat"}
# Words that would reveal the server's code, its place, or blinded data.
NEVER_SAID = ("site-packages", "Traceback", ".py", "sqlalchemy", "psycopg", "sqlite", "pydantic.dev", "/home/", "/usr/")
CONDITIONS = ("T-HAPPE", "O-HAPPE", "B-HAPPE")


class Server:
    """A furnished server, and its content before the first request."""

    def __init__(self, folder: Path, url: str) -> None:
        self.world = World(folder, url, limits=UNLIMITED)
        self.scene: Scene = furnish(self.world)
        self.before = self.digest()

    def digest(self) -> str:
        """SHA-256 of every row of these tables, and of the names and contents of all files of traces."""
        summed = hashlib.sha256()
        with self.world.database.reading() as session:
            for row in session.execute(self._rows()):
                summed.update(repr(tuple(row)).encode())
        for path in sorted(self.world.config.traces_folder.rglob("*")):
            summed.update(str(path).encode() + (path.read_bytes() if path.is_file() else b""))
        return summed.hexdigest()

    def _rows(self) -> TextClause:
        """A query for every row of these tables, each as one text. All names in it are those of our tables."""
        if self.world.database.is_sqlite:
            written = {t.name: " || ',' || ".join(f'quote("{c.name}")' for c in t.columns) for t in TABLES}
        else:
            written = {t.name: f'CAST("{t.name}" AS text)' for t in TABLES}
        each = (f"SELECT '{name}', {row} AS r FROM \"{name}\"" for name, row in written.items())  # noqa: S608 - our own names
        return text(f"SELECT * FROM ({' UNION ALL '.join(each)}) AS every ORDER BY 1, 2")  # noqa: S608 - the same

    def answer(self, request: Sent) -> TestResponse:
        """Send a request from a new client."""
        return self.world.app.test_client(use_cookies=False).open(
            request.path, method=request.method, headers=request.headers, data=request.body
        )


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A furnished server on each kind of database."""
    folder: Path = tmp_path_factory.mktemp("refusing")
    if request.param == "sqlite":
        url = sqlite_copy(request.getfixturevalue("sqlite_template"), folder)
    else:
        cluster: Postgres = request.getfixturevalue("postgres")
        url = cluster.copy("refusing")
    made = Server(folder, url)
    yield made
    made.world.close()


def test_a_bad_request_is_refused_and_changes_nothing(server: Server, subtests: pytest.Subtests) -> None:
    for number, case in enumerate(CASES, 1):
        with subtests.test(case["about"]):
            request = sent(case, server.scene)
            response = server.answer(request)
            assert response.status_code == case["status"], response.text
            if request.path.startswith("/api/") and response.status_code >= HTTPStatus.BAD_REQUEST:
                assert_problem(response, case)
            assert_tells_nothing(server, request, response)
            assert {name: response.headers.get(name) for name in HEADERS} == HEADERS
        if number % LOOKS == 0 or number == len(CASES):
            with subtests.test(f"{LOOKS} requests until this one change nothing: {case['about']}"):
                assert server.digest() == server.before


def test_there_are_enough_cases_and_each_says_what_it_is() -> None:
    assert len(CASES) >= LEAST_CASES
    assert len({case["about"] for case in CASES}) == len(CASES)
    assert len({repr(sorted(case.items() - {("about", case["about"])})) for case in map(hashable, CASES)}) == len(CASES)
    assert all(case.keys() <= FIELDS and len(case.keys() & BODIES) <= 1 for case in CASES)


def hashable(case: dict[str, Any]) -> dict[str, str]:
    """A case with comparable values."""
    return {name: value if name == "about" else repr(value) for name, value in case.items()}


def assert_problem(response: TestResponse, case: dict[str, Any]) -> None:
    """Assert that the answer is a problem of the expected kind, at the expected places."""
    assert response.mimetype == "application/problem+json"
    assert response.headers["Cache-Control"] == "no-store"
    problem = response.json or {}
    assert problem.get("status") == case["status"]
    assert problem.get("type") == f"urn:happe:problem:{case['type']}"
    if "at" in case:
        assert sorted(error["pointer"] for error in problem.get("errors", ())) == sorted(case["at"]), problem


def assert_tells_nothing(server: Server, request: Sent, response: TestResponse) -> None:
    """Assert that the answer repeats no long piece of the request, and reveals nothing about the server."""
    said = (
        [response.text, *(error["detail"] + error["pointer"] for error in (response.json or {}).get("errors", ()))]
        if response.is_json
        else [response.text]
    )
    assert not [piece for words in said for piece in pieces(words) if any(piece in given for given in request.texts())]
    inside = (str(server.world.config.data), *NEVER_SAID, *CONDITIONS)
    assert not [word for word in inside if word in response.text]


def pieces(words: str) -> Iterator[str]:
    """Every piece of a text that is longer than the longest piece that an answer may repeat."""
    return (words[start : start + MOST_ECHOED + 1] for start in range(len(words) - MOST_ECHOED))
