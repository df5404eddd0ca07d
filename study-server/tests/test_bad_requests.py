# SPDX-License-Identifier: GPL-2.0-or-later
"""The server refuses malformed, oversized, forged and hostile requests correctly, and changes nothing.

The requests are in data/bad_requests.jsonl; bad_requests.py explains the file. One server on each kind of database
gets all of them.
"""

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from bad_requests import CASES, Sent, sent
from happe_study.web.every_request import HEADERS
from postgres import Postgres
from scene import UNLIMITED, Scene, furnish
from world import World, sqlite_copy

MOST_ECHOED = 80  # characters of a request that an answer may repeat in one piece
LOOKS = 20  # after so many requests, look at everything that the server stores
# Words that would reveal the server's code, its place, or blinded data.
NEVER_SAID = ("site-packages", "Traceback", ".py", "sqlalchemy", "psycopg", "sqlite", "pydantic.dev", "/home/", "/usr/")
CONDITIONS = ("T-HAPPE", "O-HAPPE", "B-HAPPE")


class Server:
    """A furnished server, and its content before the first request."""

    def __init__(self, folder: Path, url: str) -> None:
        self.world = World(folder, url, limits=UNLIMITED)
        self.scene: Scene = furnish(self.world)
        self.before = self.world.digest()

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
                assert server.world.digest() == server.before


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
