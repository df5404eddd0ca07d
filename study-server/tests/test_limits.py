# SPDX-License-Identifier: GPL-2.0-or-later
"""Limits on guesses of passwords, codes and links, on requests, and on their bodies.

Every route refuses a request that is larger than it needs, before it reads the body.
"""

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

import given_accounts
from given_accounts import browser, post, sign_in, token_of
from given_participants import participant
from given_studies import small, study
from happe_study.base import limits
from happe_study.base.clock import now_us
from happe_study.base.codes import new_secret
from happe_study.base.limits import RateHits
from happe_study.model.rights import Role
from happe_study.model.rules import DeviceKind
from happe_study.study.people import devices
from postgres import ON_BOTH
from world import World

WRONG = "none of the passwords here"
OTHER_PASSWORD = "a rather different sentence"  # noqa: S105 - of nobody
ADA = "ada@example.org"


def limited(folder: Path, url: str, **config: object) -> World:
    """A server that allows three tries a minute for an account at an address, or for an enrolment code."""
    return World(folder, url, limits={"login": "3 per minute", "enrol": "3 per minute"}, **config)


@pytest.fixture
def world(sqlite_url: str, tmp_path: Path) -> Iterator[World]:
    """Such a server."""
    made = limited(tmp_path, sqlite_url)
    yield made
    made.close()


def attempts(world: World, count: int, email: str, address: str = "192.0.2.1", **headers: str) -> list[int]:
    """The statuses of the answers to wrong passwords from an address."""
    client = world.client()
    page = client.get("/sign-in", environ_base={"REMOTE_ADDR": "198.51.100.1"})
    form = {"csrf_token": given_accounts.token_of(page), "email": email, "password": WRONG}
    base = {"REMOTE_ADDR": address}
    return [client.post("/sign-in", data=form, environ_base=base, headers=headers).status_code for _ in range(count)]


def test_after_a_hundred_wrong_passwords_from_everywhere_the_owner_signs_in(world: World) -> None:
    given_accounts.account(world)
    owners = world.client()
    assert sign_in(owners, ADA).status_code == HTTPStatus.FOUND
    post(owners, "/sign-out", page="/studies")
    tries = [each for number in range(25) for each in attempts(world, 4, ADA, f"192.0.2.{number}")]
    assert (tries.count(200), tries.count(429)) == (75, 25)
    # The owner can sign in even from the attacker's address, in a browser in which they signed in before
    page = owners.get("/sign-in")
    form = {"csrf_token": given_accounts.token_of(page), "email": ADA, "password": given_accounts.PASSWORD}
    base = {"REMOTE_ADDR": "192.0.2.1"}
    assert owners.post("/sign-in", data=form, environ_base=base).status_code == HTTPStatus.FOUND
    # And from another address in any browser
    assert sign_in(world.client(), ADA).status_code == HTTPStatus.FOUND


def test_a_known_browser_has_a_count_of_its_own_for_its_account_alone(world: World) -> None:
    given_accounts.account(world)
    browser_of_ada = world.client()
    sign_in(browser_of_ada, ADA)
    post(browser_of_ada, "/sign-out", page="/studies")
    statuses = [sign_in(browser_of_ada, ADA, WRONG).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    assert attempts(world, 4, ADA, "127.0.0.1") == [200, 200, 200, 429]
    assert attempts(world, 3, "eve@example.org", "127.0.0.1") == [200, 200, 200]
    assert sign_in(browser_of_ada, "eve@example.org", WRONG).status_code == 429


@ON_BOTH
def test_processes_and_servers_count_together_also_what_they_are_asked_at_once(
    database_url: str, tmp_path: Path
) -> None:
    servers = [limited(tmp_path, database_url) for _ in range(2)]
    with ThreadPoolExecutor(10) as threads:
        tries = [*threads.map(lambda number: attempts(servers[number % 2], 1, ADA)[0], range(10))]
    assert sorted(tries) == [200] * 3 + [429] * 7
    with servers[0].database.reading() as session:
        kept = str(session.execute(select(RateHits.key, RateHits.hits)).all())
    assert "192.0.2" not in kept
    for each in servers:
        each.close()


def test_a_count_ends_after_its_period_and_its_row_goes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert attempts(world, 4, ADA) == [200, 200, 200, 429]
    monkeypatch.setattr(limits, "now_us", lambda: now_us() + 61_000_000)
    assert attempts(world, 1, "other@example.org", "192.0.2.7") == [200]
    assert attempts(world, 1, ADA) == [200]
    with world.database.reading() as session:
        assert list(session.scalars(select(RateHits.hits))) == [1] * 4


def test_an_address_can_try_three_accounts_as_often_whatever_the_headers(world: World) -> None:
    tries = [
        attempts(world, 1, f"{number}@example.org", **{"X-Forwarded-For": f"192.0.2.{number}"})[0]
        for number in range(11)
    ]
    assert tries == [200] * 9 + [429] * 2
    client = world.client()
    page = client.get("/sign-in")
    form = {"csrf_token": given_accounts.token_of(page), "email": ADA, "password": WRONG}
    answer = client.post("/sign-in", data=form, environ_base={"REMOTE_ADDR": "192.0.2.1"})
    assert 1 <= int(answer.headers["Retry-After"]) <= 60


@pytest.mark.parametrize("seen", ["203.0.113.7", "203.0.113.7:{}", "[2001:db8::7]:{}", "unknown", "unix:"])
def test_behind_a_proxy_that_is_trusted_the_address_is_the_one_that_it_saw(
    sqlite_url: str, tmp_path: Path, seen: str
) -> None:
    world = limited(tmp_path, sqlite_url, trusted_proxies=1)
    said = [f"{number}.2.3.4, {seen.format(50_000 + number)}" for number in range(4)]
    told = [attempts(world, 1, ADA, **{"X-Forwarded-For": each})[0] for each in said]
    assert told == [200, 200, 200, 429]
    assert attempts(world, 1, ADA, **{"X-Forwarded-For": "203.0.113.8"}) == [200]
    world.close()


def test_who_has_many_addresses_of_one_network_counts_as_one(world: World) -> None:
    tries = [attempts(world, 1, ADA, f"2001:db8::{number:x}")[0] for number in range(1, 5)]
    assert tries == [200, 200, 200, 429]
    assert attempts(world, 1, ADA, "2001:db8:0:1::1") == [200]


def test_whoever_found_an_open_session_can_try_three_passwords(world: World) -> None:
    client = browser(world)
    chosen = {"new_password": OTHER_PASSWORD, "new_password_confirm": OTHER_PASSWORD}
    pages: list[tuple[str, dict[str, str]]] = [("/sign-in-again", {}), ("/password", chosen)]
    statuses = [post(client, path, password=WRONG, **form).status_code for path, form in pages * 2]
    assert statuses == [200, 200, 200, 429]


def test_a_program_can_t_pass_the_limits_by_json(world: World) -> None:
    client = world.client()
    headers = {"X-CSRFToken": given_accounts.token_of(client.get("/sign-in"))}
    answer = client.post("/sign-in", json={"email": ADA, "password": WRONG}, headers=headers)
    assert answer.status_code == HTTPStatus.UNSUPPORTED_MEDIA_TYPE


def test_a_right_code_or_link_works_after_any_number_of_wrong_ones_at_its_address(world: World) -> None:
    within = study(world, protocol=small())
    _row, link = participant(world, within)
    client = world.client()
    with world.database.writing() as session:
        _device, code = devices.create(session, within.id, "meter", DeviceKind.METER, None)
    codes = [client.post("/api/v1/devices/enrol", json={"code": "XXXX-XXXX"}) for _ in range(4)]
    links = [client.get(f"/p/{new_secret()}") for _ in range(4)]
    assert [answer.status_code for answer in codes] == [403, 403, 403, 429]
    assert [answer.status_code for answer in links] == [404, 404, 404, 429]
    assert 1 <= int(codes[3].headers["Retry-After"]) <= 60
    assert codes[3].content_type == "application/problem+json"
    assert "Wait a minute" in links[3].text
    assert client.post("/api/v1/devices/enrol", json={"code": code}).status_code == HTTPStatus.CREATED
    assert client.get(f"/p/{link}").status_code == HTTPStatus.OK


def test_each_process_has_its_share_of_the_limit_on_requests(
    sqlite_url: str, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for rate, workers, allowed in (("40 per minute", 4, 10), ("3 per minute", 2, 1), ("2 per second", 64, 1)):
        with subtests.test(f"{rate}, {workers} processes"):
            world = World(tmp_path, sqlite_url, workers=workers, limits={"participant": rate})
            client = world.client()
            statuses = [client.get("/sign-in").status_code for _ in range(allowed + 1)]
            assert statuses == [200] * allowed + [429]
            world.close()


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
    cells = [(url, method) for url in world.app.url_map.iter_rules() for method in sorted(url.methods or ())]
    assert LARGER.keys() <= {url.endpoint for url, _method in cells}
    for url, method in cells:
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
