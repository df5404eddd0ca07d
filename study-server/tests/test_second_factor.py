# SPDX-License-Identifier: GPL-2.0-or-later
"""A second factor: setting it up, asking for it, using a code once, removing it."""

import re
from http import HTTPStatus

import pyotp
import pytest
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

import given_accounts
from given_accounts import browser, post, sign_in
from happe_study.base.clock import now_us
from happe_study.model.accounts import Account
from happe_study.model.rights import Role
from happe_study.study.people import accounts as services
from happe_study.study.people import second_factor
from operated import Operated
from world import World

ADA, EVE = "ada@example.org", "eve@example.org"
SECRET = re.compile(r'name="secret" value="([A-Z2-7]{32})"')
SETTING_UP = "/me/second-factor"


class Phone:
    """An app that makes codes."""

    def __init__(self, at_us: int) -> None:
        """Know no secret yet."""
        self.now_us, self.secret = at_us, ""

    def code(self, steps_off: int = 0) -> str:
        """The code that the app shows if its clock is off by this number of steps."""
        return pyotp.TOTP(self.secret).at(self.now_us // 1_000_000 + 30 * steps_off)

    def waits(self) -> None:
        """Wait for the next code."""
        self.now_us += second_factor.STEP_US

    def scans(self, client: FlaskClient) -> TestResponse:
        """Scan the page's picture, and send the first code."""
        page = client.get(SETTING_UP)
        found = SECRET.search(page.text)
        assert found, page.text
        assert "<svg" in page.text
        self.secret = found[1]
        form = {"csrf_token": given_accounts.token_of(page), "secret": self.secret, "code": self.code()}
        return client.post(SETTING_UP, data=form)


@pytest.fixture
def phone(monkeypatch: pytest.MonkeyPatch) -> Phone:
    """A phone and a server on test clocks. Their time stands still until a test moves it."""
    phone = Phone(now_us())
    monkeypatch.setattr(second_factor, "now_us", lambda: phone.now_us)
    return phone


def is_let_in(world: World, code: str) -> bool:
    """Whether Ada signs in with her password and a code."""
    answer = sign_in(world.client(), ADA, code=code)
    assert (
        answer.status_code == HTTPStatus.FOUND or "The address, the password or the code is not right." in answer.text
    )
    return answer.status_code == HTTPStatus.FOUND


def test_whoever_set_it_up_signs_in_with_a_code_and_each_code_once(world: World, phone: Phone) -> None:
    answer = phone.scans(browser(world))
    assert answer.headers["Location"] == "/me"
    assert not is_let_in(world, phone.code()), "it was used to set up"
    phone.waits()
    assert not is_let_in(world, "")
    assert not is_let_in(world, "not a code \N{BLACK HEART SUIT}")
    assert is_let_in(world, f"{phone.code()[:3]} {phone.code()[3:]}"), "apps show it in two groups"
    assert not is_let_in(world, phone.code())
    assert is_let_in(world, phone.code(1)), "a phone half a minute ahead"
    assert not is_let_in(world, phone.code(2))
    for _ in range(3):
        phone.waits()
    assert is_let_in(world, phone.code(-1)), "and behind"


def test_wrong_codes_after_the_right_password_count_for_the_account_whatever_their_address(
    world: World, phone: Phone
) -> None:
    phone.scans(browser(world))
    statuses = []
    for number in range(11):
        client = world.client()
        client.environ_base["REMOTE_ADDR"] = f"192.0.2.{number}"
        statuses.append(sign_in(client, ADA, code="0").status_code)
    assert statuses == [HTTPStatus.OK] * 10 + [HTTPStatus.TOO_MANY_REQUESTS]


def test_what_cannot_be_undone_asks_for_a_code_again(
    world: World, phone: Phone, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser(world)
    phone.scans(client)
    later_s = 600
    monkeypatch.setattr("happe_study.model.rules.now_us", lambda: now_us() + later_s * 1_000_000)
    assert client.get(SETTING_UP).headers["Location"].startswith("/sign-in-again")
    again = {"page": "/sign-in-again", "password": given_accounts.PASSWORD}
    phone.waits()
    for code in ("", "000000" if phone.code() != "000000" else "000001"):
        refused = post(client, "/sign-in-again", **again, code=code)
        assert refused.status_code == HTTPStatus.OK
        assert "This is not a code that your app shows now" in refused.text
    assert post(client, "/sign-in-again", **again, code=phone.code()).status_code == HTTPStatus.FOUND


def test_a_form_that_is_not_the_servers_sets_up_nothing(world: World, phone: Phone) -> None:
    client = browser(world)
    token = given_accounts.token_of(client.get(SETTING_UP))
    phone.secret = second_factor.new_secret()
    right = {"csrf_token": token, "secret": phone.secret, "code": phone.code()}
    for wrong in (
        {"code": ""}, {"code": phone.code(5)}, {"code": "1" * 17}, {"code": "\N{ARABIC-INDIC DIGIT ONE}" * 6},
        {"secret": ""}, {"secret": phone.secret[:-1]}, {"secret": phone.secret.lower()}, {"secret": "A" * 65},
        {"secret": "<svg onload=alert(1)>".ljust(32, "A")},
    ):  # fmt: skip
        answer = client.post(SETTING_UP, data=right | wrong)
        assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY, wrong
        assert "<svg onload" not in answer.text
    assert is_let_in(world, "")
    assert client.post(SETTING_UP, data=right).status_code == HTTPStatus.SEE_OTHER


def test_the_owner_and_an_administrator_remove_it_and_the_log_says_so(world: World, phone: Phone) -> None:
    client = browser(world)
    administrator = browser(world, Role.ADMINISTRATOR, email=EVE)
    assert "Remove the second factor" not in administrator.get(f"/accounts/{ADA}").text
    for remover, path, page in (
        (client, f"{SETTING_UP}/end", "/me"), (administrator, f"/accounts/{ADA}", f"/accounts/{ADA}"),
    ):  # fmt: skip
        phone.scans(client)
        assert post(remover, path, page=page, do="second-factor").status_code == HTTPStatus.SEE_OTHER
        assert is_let_in(world, "")
        phone.waits()
    told = [(detail["by"], detail["asked"]) for detail in world.details("account.second-factor")]
    assert told == [
        (f"staff:{ADA}", True), (f"staff:{ADA}", False), (f"staff:{ADA}", True), (f"staff:{EVE}", False),
    ]  # fmt: skip


def test_the_database_has_the_secret_sealed_for_its_account(world: World, phone: Phone) -> None:
    phone.scans(browser(world))
    phone.waits()
    given_accounts.account(world, email=EVE)
    with world.database.writing() as session:
        ada, eve = services.get(session, ADA), services.get(session, EVE)
        assert ada.totp_secret
        assert phone.secret.encode() not in ada.totp_secret
        eve.totp_secret = ada.totp_secret
    answer = sign_in(world.client(), EVE, code=phone.code())
    assert answer.status_code == HTTPStatus.INTERNAL_SERVER_ERROR


def test_the_command_removes_it_after_a_phone_was_lost(operated: Operated) -> None:
    with operated.world.app.app_context(), operated.world.database.writing() as session:
        made = services.create(session, None, ADA, given_accounts.PASSWORD, given=False)
        made.totp_secret = b"sealed"
    assert operated.run("user", "unpair", "nobody@example.org").status != 0
    done = operated.run("user", "unpair", ADA)
    assert (done.status, done.out) == (0, f"{ADA} needs only the password to sign in.\n")
    with operated.world.database.reading() as session:
        assert session.scalars(select(Account.totp_secret)).all() == [None]
