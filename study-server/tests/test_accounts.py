# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts: signing in and out, passwords, tokens, roles."""

import unicodedata
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import argon2
import argon2.low_level
import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update

import given_accounts
import given_studies
import quicker
from given_accounts import PASSWORD, browser, post, sign_in
from happe_study.base.clock import now_us
from happe_study.base.codes import digest
from happe_study.base.problems import Problem
from happe_study.model.accounts import Account, Token
from happe_study.model.audit.models import AuditDetail
from happe_study.model.rights import APART, Role
from happe_study.model.rules import FRESH_US
from happe_study.study.people import accounts as services
from happe_study.study.people import callers
from postgres import ON_BOTH
from world import World

OTHER_PASSWORD = "a rather different sentence"  # noqa: S105 - of nobody
WRONG = "none of the passwords here"
ADA = "ada@example.org"
MINUTE_US = 60_000_000


def may_look(client: FlaskClient) -> bool:
    """Whether a browser is signed in, and so may open a page."""
    return client.get("/me").status_code == HTTPStatus.OK


def test_who_signs_in_gets_where_they_wanted(world: World) -> None:
    client = world.client()
    led = client.get("/me?x=1")
    assert led.headers["Location"] == "/sign-in?next=%2Fme%3Fx%3D1"
    given_accounts.account(world)
    page = client.get(led.headers["Location"])
    assert 'name="next" value="/me?x=1"' in page.text
    assert sign_in(client, ADA, next="/me?x=1").headers["Location"] == "/me?x=1"
    assert may_look(client)
    assert "Max-Age" not in str(client.get("/me").headers)


def test_an_address_is_the_same_in_capitals(world: World) -> None:
    given_accounts.account(world)
    assert sign_in(world.client(), "Ada@Example.org").status_code == HTTPStatus.FOUND


def test_a_password_is_the_same_in_each_of_its_unicode_forms(world: World) -> None:
    composed = "größe und höhe"
    with world.app.app_context(), world.database.writing() as session:
        services.create(session, None, ADA, composed, given=False)
    for form in ("NFC", "NFD", "NFKD"):
        assert sign_in(world.client(), ADA, unicodedata.normalize(form, composed)).status_code == HTTPStatus.FOUND


@pytest.mark.parametrize(
    "place",
    [
        "https://evil.example", "//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example",
        "https:evil.example", "javascript:alert(1)", "/\t/evil.example", "/\n/evil.example", "http://localhost.evil.example",
        "http://localhost/studies", " //evil.example", "studies", "/a b", "@evil.example",
    ],
)  # fmt: skip
@pytest.mark.parametrize("page", ["/sign-in", "/sign-in-again"])
def test_no_link_leads_from_the_sign_in_to_another_server(world: World, place: str, page: str) -> None:
    client = browser(world) if page == "/sign-in-again" else world.client()
    given_accounts.account(world, email="eve@example.org")
    by_query = client.get(page, query_string={"next": place})
    by_form = post(client, page, email="eve@example.org", password=PASSWORD, next=place)
    for answer in (by_query, by_form):
        assert answer.status_code == HTTPStatus.BAD_REQUEST
        assert "Location" not in answer.headers


def test_passwords_are_kept_as_argon2id_at_what_rfc_9106_asks(world: World) -> None:
    # Given a server with the hashes of production, not with the quick ones of other tests
    quicker.hash_as_shipped(world.app)
    given_accounts.account(world)
    with world.database.reading() as session:
        kept = argon2.extract_parameters(services.get(session, ADA).password or "")
    # Then they have at least the second recommended option of section 4
    assert kept.type is argon2.Type.ID
    assert kept.memory_cost >= 65536  # KiB
    assert kept.time_cost >= 3
    assert kept.parallelism >= 4
    assert sign_in(world.client(), ADA).status_code == HTTPStatus.FOUND


def noted(name: str, original: Callable[..., object], called: list[str]) -> Callable[..., object]:
    """A function that notes its name in `called`."""

    def function(*args: object, **kwargs: object) -> object:
        called.append(name)
        return original(*args, **kwargs)

    return function


@pytest.fixture
def hashes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of argon2's functions that were called."""
    called: list[str] = []
    for name in ("hash_secret", "verify_secret"):
        monkeypatch.setattr(argon2.low_level, name, noted(name, getattr(argon2.low_level, name), called))
    return called


def test_nothing_tells_whether_there_is_an_account(world: World, hashes: list[str]) -> None:
    given_accounts.account(world)
    given_accounts.account(world, email="gone@example.org")
    with world.database.writing() as session:
        session.add(Account(email="bare@example.org", fs_uniquifier="x", created_us=0))
        services.disable(session, None, services.get(session, "gone@example.org"))
    answers, costs = set(), []
    for email, password in (
        (ADA, WRONG), ("nobody@example.org", WRONG), ("gone@example.org", PASSWORD), ("gone@example.org", WRONG),
        ("bare@example.org", WRONG),
    ):  # fmt: skip
        hashes.clear()
        answer = sign_in(world.client(), email, password)
        answers.add((answer.status, given_accounts.CSRF.sub("", answer.text).replace(email, "")))
        costs.append(len(hashes))
    assert len(answers) == 1
    assert "The address, the password or the code is not right." in answers.pop()[1]
    assert costs == [1] * 5


def test_signing_out_takes_a_post_and_ends_the_session_wherever_its_cookie_is(world: World) -> None:
    client, copy = browser(world), world.client()
    cookie = client.get_cookie("happe_session")
    assert cookie
    copy.set_cookie("happe_session", cookie.value)
    assert may_look(copy)
    assert client.get("/sign-out").status_code == HTTPStatus.METHOD_NOT_ALLOWED
    assert may_look(client)
    assert post(client, "/sign-out", page="/me").headers["Location"] == "/sign-in"
    assert not may_look(client)
    assert not may_look(copy)


def test_a_new_password_ends_other_sessions_and_tokens(world: World) -> None:
    client, other = browser(world), world.client()
    sign_in(other, ADA)
    with world.database.writing() as session:
        token = services.issue_token(session, None, services.get(session, ADA), 30)
    changed = post(
        client, "/password", password=PASSWORD, new_password=OTHER_PASSWORD, new_password_confirm=OTHER_PASSWORD
    )
    assert changed.headers["Location"] == "/me"
    assert may_look(client)
    assert not may_look(other)
    assert world.client(token).get("/api/v1/me").status_code == HTTPStatus.UNAUTHORIZED
    assert "Sign in, or send a valid token." in world.client().get("/api/v1/me").text
    assert sign_in(world.client(), ADA).status_code == HTTPStatus.OK
    assert sign_in(world.client(), ADA, OTHER_PASSWORD).status_code == HTTPStatus.FOUND
    assert world.actions()[-1] == "account.password"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"password": WRONG}, "This is not your password."),
        ({"new_password": "short", "new_password_confirm": "short"}, "at least 12 characters"),
        ({"new_password_confirm": WRONG}, "The two passwords differ."),
        ({"new_password": PASSWORD, "new_password_confirm": PASSWORD}, "Choose a different password than before."),
    ],
)
def test_a_bad_new_password_is_refused_beside_its_field(world: World, form: dict[str, str], said: str) -> None:
    client = browser(world)
    good = {"password": PASSWORD, "new_password": OTHER_PASSWORD, "new_password_confirm": OTHER_PASSWORD}
    answer = post(client, "/password", **(good | form))
    assert answer.status_code == HTTPStatus.OK
    assert said in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert "account.password" not in world.actions()


def test_a_given_password_is_changed_before_anything_else(world: World) -> None:
    given_accounts.account(world, Role.INVESTIGATOR, given=True)
    client = world.client()
    sign_in(client, ADA)
    for path in ("/studies", "/me", "/me/token", "/sign-in-again"):
        assert client.get(path).headers["Location"].startswith("/password?next=")
    refused = client.get("/api/v1/me")
    assert (refused.status_code, refused.get_json()["type"]) == (403, "urn:happe:problem:password-given")
    assert "Somebody else chose your current password" in client.get("/password").text
    post(client, "/password", password=PASSWORD, new_password=OTHER_PASSWORD, new_password_confirm=OTHER_PASSWORD)
    assert may_look(client)
    with world.database.reading() as session:
        assert not services.get(session, ADA).password_given
    assert world.actions() == ["account.create", "account.password"]


def test_disabling_ends_sessions_and_tokens_at_once(world: World) -> None:
    client = browser(world)
    administrator = world.staff(Role.ADMINISTRATOR)
    with world.database.writing() as session:
        token = services.issue_token(session, None, services.get(session, ADA), 30)
    assert administrator.post(f"/api/v1/accounts/{ADA}/disable").status_code == HTTPStatus.OK
    assert not may_look(client)
    assert world.client(token).get("/api/v1/me").status_code == HTTPStatus.UNAUTHORIZED
    assert administrator.post(f"/api/v1/accounts/{ADA}/enable").status_code == HTTPStatus.OK
    assert not may_look(client)
    assert sign_in(client, ADA).status_code == HTTPStatus.FOUND


def test_a_grant_that_was_revoked_meanwhile_does_not_come_back_with_a_new_password(world: World) -> None:
    given_accounts.account(world, Role.INVESTIGATOR)
    security: Any = world.app.extensions["security"]
    held: Any = security.datastore.find_user(email=ADA)
    with world.database.writing() as session:
        account = services.get(session, ADA)
        services.revoke(session, None, account, Role.INVESTIGATOR, None)
        account.active = False
    held.password, held.fs_uniquifier = "new", "other"
    security.datastore.put(held)
    with world.database.reading() as session:
        account = services.get(session, ADA)
        assert (account.password, account.grants, account.active) == ("new", [], False)


def grow_stale(client: FlaskClient) -> None:
    """Change the session as if the browser's owner had given the password six minutes ago."""
    with client.session_transaction() as session:
        session["fs_paa"] -= 360


def test_giving_roles_takes_a_password_given_lately(world: World) -> None:
    client = browser(world, Role.ADMINISTRATOR)
    given_accounts.account(world, email="bob@example.org")
    path = "/accounts/bob@example.org"
    token = given_accounts.token_of(client.get(path))
    grow_stale(client)
    assert client.get(path).headers["Location"] == "/sign-in-again?next=%2Faccounts%2Fbob%40example.org"
    refused = client.post(path, data={"csrf_token": token, "do": "grant", "role": "analyst", "study": "*"})
    assert refused.status_code == HTTPStatus.FORBIDDEN
    assert "/sign-in-again?next=%2Faccounts%2Fbob%40example.org" in refused.text
    assert post(client, "/sign-in-again", password=WRONG, next=path).status_code == HTTPStatus.OK
    assert client.get(path).status_code == HTTPStatus.SEE_OTHER
    assert post(client, "/sign-in-again", password=PASSWORD, next=path).headers["Location"] == quote(path)
    granted = post(client, path, do="grant", role="analyst", study="*")
    assert granted.headers["Location"] == path
    assert "bob@example.org is analyst of every study." in client.get(path).text


def test_a_token_made_with_a_token_is_no_fresher_than_that_one(world: World) -> None:
    # Given a token whose owner gave the password four minutes ago
    secret = world.account(Role.ADMINISTRATOR, email=ADA)
    given_accounts.account(world, email="bob@example.org")
    proven_us = now_us() - FRESH_US + MINUTE_US
    with world.database.writing() as session:
        session.execute(update(Token).values(proven_us=proven_us))

    # When
    made = world.client(secret).post("/api/v1/me/tokens", json={}).get_json()["token"]

    # Then
    with world.database.reading() as session:
        assert list(session.scalars(select(Token.proven_us).where(Token.sha256 == digest(made)))) == [proven_us]
    with world.database.writing() as session:
        session.execute(update(Token).values(proven_us=proven_us - 2 * MINUTE_US))
    answer = world.client(made).post("/api/v1/accounts/bob@example.org/grants", json={"role": "analyst"})
    assert answer.get_json()["type"] == "urn:happe:problem:sign-in-again"


def test_a_token_made_in_a_session_is_as_fresh_as_its_password(world: World) -> None:
    client = browser(world)
    with client.session_transaction() as session:
        session["fs_paa"] -= 200
        proven_s = session["fs_paa"]
    post(client, "/me/token", days="2")
    with world.database.reading() as session:
        assert list(session.scalars(select(Token.proven_us))) == [int(proven_s * 1_000_000)]


def test_a_token_is_shown_once_and_ends_when_its_owner_says_so(world: World) -> None:
    client = browser(world)
    made = post(client, "/me/token", days="2")
    secret = made.text.split('id="token" value="')[1].split('"')[0]
    assert secret not in client.get("/me").text
    assert world.client(secret).get("/api/v1/me").get_json()["email"] == ADA
    with world.database.reading() as session:
        row = session.scalars(select(Token)).one()
        assert row.sha256 == digest(secret)
        assert 0 <= row.created_us + 2 * services.DAY_US - (row.expires_us or 0) < MINUTE_US
    post(client, "/me/tokens/end", page="/me")
    assert world.client(secret).get("/api/v1/me").status_code == HTTPStatus.UNAUTHORIZED
    assert world.actions()[1:] == ["account.token", "account.tokens-revoked"]


@pytest.mark.parametrize("days", ["0", "367", "-1", "1.5", "", "many", "\N{SUPERSCRIPT TWO}"])
def test_a_token_has_a_lifetime(world: World, days: str) -> None:
    answer = post(browser(world), "/me/token", days=days)
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert 'id="days-error"' in answer.text


def test_an_account_is_made_with_a_password_that_is_shown_once(world: World) -> None:
    client = browser(world, Role.ADMINISTRATOR)
    made = post(client, "/new-account", email="Bob@Example.org")
    password = made.text.split('id="password" value="')[1].split('"')[0]
    newcomer = world.client()
    assert sign_in(newcomer, "bob@example.org", password).status_code == HTTPStatus.FOUND
    assert newcomer.get("/studies").headers["Location"].startswith("/password")
    with world.database.reading() as session:
        details = [row.detail for row in session.scalars(select(AuditDetail))]
    assert password not in str(details)


@ON_BOTH
@pytest.mark.parametrize(
    ("email", "status"),
    [("ada@example.org", 409), ("ADA@example.org", 409), ("ada", 422), ("a/b@example.org", 422), ("a@b\0.org", 422),
     ("", 422), (f"{'a' * 250}@example.org", 422)],
)  # fmt: skip
def test_an_address_is_one_and_new(world: World, email: str, status: int) -> None:
    client = browser(world, Role.ADMINISTRATOR)
    assert post(client, "/new-account", email=email).status_code == status
    answer = client.post(
        "/api/v1/accounts",
        json={"email": email, "password": PASSWORD},
        headers={"X-CSRFToken": given_accounts.token_of(client.get("/me"))},
    )
    assert answer.status_code == (400 if "\0" in email else status)


@pytest.mark.parametrize(
    ("role", "other"), [(role, other) for role, others in APART.items() for other in sorted(others)]
)
@pytest.mark.parametrize("places", ["same", "every then one", "one then every"])
def test_duties_are_kept_apart_in_a_study(world: World, role: Role, other: Role, places: str) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    first, second = {"same": (study, study), "every then one": (None, study), "one then every": (study, None)}[places]
    for one, another in ((role, other), (other, role)):
        with world.database.writing() as session:
            account = Account(email=f"{one}@example.org", fs_uniquifier=f"{one}{other}", created_us=0)
            session.add(account)
            session.flush()
            services.grant(session, None, account, one, first)
            with pytest.raises(Problem, match="can't be"):
                services.grant(session, None, account, another, second)
            assert [grant.role for grant in account.grants] == [one]
            session.delete(account)


def test_duties_of_different_studies_go_together(world: World) -> None:
    studies = [given_studies.study(world, protocol=given_studies.small(name)) for name in ("one", "two")]
    with world.database.writing() as session:
        account = Account(email=ADA, fs_uniquifier="x", created_us=0)
        session.add(account)
        session.flush()
        services.grant(session, None, account, Role.CUSTODIAN, studies[0])
        services.grant(session, None, account, Role.ANALYST, studies[1])
        services.grant(session, None, account, Role.ANALYST, studies[1])
        assert len(account.grants) == 2


def test_nobody_changes_their_own_roles_and_one_administrator_stays(world: World) -> None:
    client = browser(world, Role.ADMINISTRATOR)
    given_accounts.account(world, Role.ADMINISTRATOR, email="bob@example.org")
    mine = "/accounts/ada@example.org"
    assert "change your own roles" in client.get(mine).text
    for do in ("grant", "revoke"):
        answer = post(client, mine, do=do, role="administrator", study="*")
        assert answer.status_code == HTTPStatus.CONFLICT
    bobs = "/accounts/bob@example.org"
    assert post(client, bobs, do="revoke", role="administrator", study="*").status_code == HTTPStatus.SEE_OTHER
    last = post(client, mine, do="disable")
    assert last.status_code == HTTPStatus.CONFLICT
    assert "This is the last administrator" in last.text
    assert may_look(client)


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"do": "promote"}, 404), ({}, 404), ({"do": "grant", "role": "king", "study": "*"}, 422),
        ({"do": "grant", "role": "analyst", "study": "no-such"}, 404),
        ({"do": "revoke", "role": "analyst", "study": "*"}, 404),
    ],
)  # fmt: skip
def test_what_an_account_s_page_does_not_know_changes_nothing(world: World, form: dict[str, str], status: int) -> None:
    client = browser(world, Role.ADMINISTRATOR)
    given_accounts.account(world, email="bob@example.org")
    before = world.actions()
    assert post(client, "/accounts/bob@example.org", **form).status_code == status
    assert world.actions() == before


def test_a_password_that_an_administrator_gives_ends_what_was_open(world: World) -> None:
    bob = browser(world, email="bob@example.org")
    client = browser(world, Role.ADMINISTRATOR)
    given = post(client, "/accounts/bob@example.org", do="password")
    password = given.text.split('id="password" value="')[1].split('"')[0]
    assert not may_look(bob)
    assert sign_in(bob, "bob@example.org").status_code == HTTPStatus.OK
    assert sign_in(bob, "bob@example.org", password).status_code == HTTPStatus.FOUND
    assert bob.get("/me").headers["Location"].startswith("/password")


def test_a_token_of_another_length_is_nobody_s(world: World) -> None:
    with world.database.reading() as session:
        assert callers.caller_of(session, "x" * (callers.LONGEST_TOKEN + 1)) is None
        assert callers.caller_of(session, "") is None
