# SPDX-License-Identifier: GPL-2.0-or-later
"""How often passwords and enrolment codes can be tried."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

import given_accounts
from given_accounts import browser, post, sign_in
from world import World

if TYPE_CHECKING:
    from pathlib import Path

WRONG = "none of the passwords here"
OTHER_PASSWORD = "a rather different sentence"  # noqa: S105 - of nobody
ADA = "ada@example.org"


def limited(folder: Path, url: str, **config: object) -> World:
    """A server that lets an address or an account try three times a minute."""
    return World(folder, url, limits={"login": "3 per minute", "enrol": "3 per minute"}, **config)


def attempts(world: World, count: int, email: str, address: str = "192.0.2.1", **headers: str) -> list[int]:
    """The answers' statuses to wrong passwords from an address."""
    client = world.client()
    page = client.get("/sign-in", environ_base={"REMOTE_ADDR": "198.51.100.1"})
    form = {"csrf_token": given_accounts.token_of(page), "email": email, "password": WRONG}
    base = {"REMOTE_ADDR": address}
    return [client.post("/sign-in", data=form, environ_base=base, headers=headers).status_code for _ in range(count)]


@pytest.mark.parametrize("email", [ADA, "nobody@example.org"])
def test_passwords_of_an_account_can_be_tried_three_times_from_wherever(
    sqlite_url: str, tmp_path: Path, email: str
) -> None:
    world = limited(tmp_path, sqlite_url)
    given_accounts.account(world)
    tries = [attempts(world, 1, email.upper() if number % 2 else email, f"192.0.2.{number}")[0] for number in range(5)]
    assert tries == [200, 200, 200, 429, 429]
    assert attempts(world, 1, "other@example.org", "192.0.2.9") == [200]
    world.close()


def test_an_address_can_try_three_times_whatever_the_account_and_the_headers(sqlite_url: str, tmp_path: Path) -> None:
    world = limited(tmp_path, sqlite_url)
    tries = [
        attempts(world, 1, f"{number}@example.org", **{"X-Forwarded-For": f"192.0.2.{number}"})[0]
        for number in range(5)
    ]
    assert tries == [200, 200, 200, 429, 429]
    client = world.client()
    page = client.get("/sign-in")
    form = {"csrf_token": given_accounts.token_of(page), "email": ADA, "password": WRONG}
    answer = client.post("/sign-in", data=form, environ_base={"REMOTE_ADDR": "192.0.2.1"})
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    world.close()


def test_behind_a_proxy_that_is_trusted_the_address_is_the_one_that_it_saw(sqlite_url: str, tmp_path: Path) -> None:
    world = limited(tmp_path, sqlite_url, trusted_proxies=1)
    told = [
        attempts(world, 1, f"{number}@example.org", **{"X-Forwarded-For": f"{number}.2.3.4, 203.0.113.7"})[0]
        for number in range(4)
    ]
    assert told == [200, 200, 200, 429]
    assert attempts(world, 1, ADA, **{"X-Forwarded-For": "203.0.113.8"}) == [200]
    world.close()


def test_who_has_many_addresses_of_one_network_counts_as_one(sqlite_url: str, tmp_path: Path) -> None:
    world = limited(tmp_path, sqlite_url)
    tries = [attempts(world, 1, f"{number}@example.org", f"2001:db8::{number:x}")[0] for number in range(1, 5)]
    assert tries == [200, 200, 200, 429]
    assert attempts(world, 1, ADA, "2001:db8:0:1::1") == [200]
    world.close()


def test_the_right_password_forgets_the_wrong_ones(sqlite_url: str, tmp_path: Path) -> None:
    world = limited(tmp_path, sqlite_url)
    given_accounts.account(world)
    for address in ("192.0.2.1", "192.0.2.2"):
        assert attempts(world, 2, ADA, address) == [200, 200]
        assert sign_in(world.client(), ADA).status_code == HTTPStatus.FOUND
    world.close()


def test_whoever_found_an_open_session_can_try_three_passwords(sqlite_url: str, tmp_path: Path) -> None:
    world = limited(tmp_path, sqlite_url)
    client = browser(world)
    chosen = {"new_password": OTHER_PASSWORD, "new_password_confirm": OTHER_PASSWORD}
    pages: list[tuple[str, dict[str, str]]] = [("/sign-in-again", {}), ("/password", chosen)]
    statuses = [post(client, path, password=WRONG, **form).status_code for path, form in pages * 2]
    assert statuses == [200, 200, 200, 429]
    world.close()


def test_a_program_can_t_pass_the_limits_by_json(small_world: World) -> None:
    client = small_world.client()
    headers = {"X-CSRFToken": given_accounts.token_of(client.get("/sign-in"))}
    answer = client.post("/sign-in", json={"email": ADA, "password": WRONG}, headers=headers)
    assert answer.status_code == HTTPStatus.UNSUPPORTED_MEDIA_TYPE


def test_enrolment_codes_can_be_tried_three_times(sqlite_url: str, tmp_path: Path) -> None:
    world = limited(tmp_path, sqlite_url)
    answers = [world.client().post("/api/v1/devices/enrol", json={"code": "XXXX-XXXX"}) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [403, 403, 403, 429]
    assert answers[3].content_type == "application/problem+json"
    assert int(answers[3].headers["Retry-After"]) > 0
    world.close()
