# SPDX-License-Identifier: GPL-2.0-or-later
"""Every route refuses a request that is larger than it needs, before it reads the body."""

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from given_accounts import browser, token_of
from happe_study.model.rights import Role
from test_rules import CELLS
from world import World

KIB, MIB = 1 << 10, 1 << 20
ORDINARY = 16 * KIB
LARGER = {
    "participant_pages.answer": 128 * KIB,
    "profile_pages.review": 28_096,  # a note of 2000 characters
    "profiles.review_profile": 28_096,
    "device_runs.put_record": 8 * MIB,
    "report_pages.upload": 33 * MIB,
    "studies.create_study": 256 * KIB,
    "study_pages.change": MIB,
    "study_pages.new_study": MIB,
    "traces.put_part": 64 * MIB,
    "traces.put_trace": 64 * KIB,
    "traces.seal_trace": 8 * MIB,
}
FORM = "application/x-www-form-urlencoded"
MOST = 400  # values
ARGUMENT = re.compile(r"<(?:(?P<kind>[a-z]+)(?:\((?P<of>[^)]*)\))?:)?[a-z_]+>")
VALUES = {"uuid": "6b1f0b5e-8a46-4a5c-9a5e-0d6f1c2b3a49", "int": "1"}


def test_a_route_refuses_more_than_it_needs(world: World, subtests: pytest.Subtests) -> None:
    assert LARGER.keys() <= {url.endpoint for url, _method in CELLS}
    for url, method in CELLS:
        path = ARGUMENT.sub(lambda found: VALUES.get(found["kind"], (found["of"] or "x").split(",")[0]), url.rule)
        most = LARGER.get(url.endpoint, ORDINARY)
        with subtests.test(f"{method} {url.rule}"):
            statuses = [
                world.client()
                .open(path, method=method, buffered=True, environ_overrides={"CONTENT_LENGTH": str(size)})
                .status_code
                for size in (most, most + 1)
            ]
            assert statuses[0] != HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            assert statuses[1] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def members(many: int) -> str:
    """JSON that has so many values, with itself."""
    return json.dumps({f"m{number}": 0 for number in range(many - 1)})


def parts(many: int) -> str:
    """A form in so many parts."""
    return "--x\r\nContent-Disposition:form-data;name=a\r\n\r\n\r\n" * many + "--x--"


def test_a_request_has_at_most_400_values(world: World, subtests: pytest.Subtests) -> None:
    signed_in = browser(world, Role.INVESTIGATOR)
    signed_in.environ_base["HTTP_X_CSRFTOKEN"] = token_of(signed_in.get("/me"))
    requests: dict[str, tuple[FlaskClient, str, str, Callable[[int], str]]] = {
        "a form": (world.client(), "/sign-in", FORM, lambda many: "&".join("a" * many)),
        "a form in parts": (signed_in, "/new-study", "multipart/form-data; boundary=x", parts),
        "JSON": (world.client(), "/api/v1/devices/enrol", "application/json", members),
    }
    for name, (client, path, kind, body) in requests.items():
        with subtests.test(name):
            statuses = [client.post(path, data=body(many), content_type=kind).status_code for many in (MOST, MOST + 1)]
            assert statuses[0] != HTTPStatus.REQUEST_ENTITY_TOO_LARGE
            assert statuses[1] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    with subtests.test("a query"):
        statuses = [signed_in.get("/sign-in?" + "&".join("a" * many)).status_code for many in (MOST, MOST + 1)]
        assert statuses[0] != HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        assert statuses[1] == HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def test_requests_count_before_their_bodies_are_read(sqlite_url: str, tmp_path: Path) -> None:
    world = World(tmp_path, sqlite_url, workers=1, limits={"participant": "2 per minute"})
    for path, wrong in (("/sign-in", FORM), ("/api/v1/devices/enrol", "application/json")):
        answers = [world.client().post(path, data="a" * ORDINARY + "a" * 9, content_type=wrong) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [413, 413, 429]
    world.close()
