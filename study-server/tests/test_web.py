# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers of every answer and the limits of every request, whatever its route; and the OpenAPI document."""

import re
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from flask import Blueprint
from itsdangerous import TimestampSigner
from sqlalchemy import select
from werkzeug.test import TestResponse

import callers
import given_accounts
import given_participants
import given_studies
import happe_study.web.assembly
from callers import ELSEWHERE, LIMITS, MATRIX
from given_accounts import PASSWORD, browser, post, sign_in
from happe_study.model.rights import Role
from happe_study.model.rules import anybody
from happe_study.model.studies import Study
from happe_study.study.studies import services as studies
from happe_study.web.every_request import ANOTHER, BETWEEN, HEADERS
from postgres import ON_BOTH
from world import World, sqlite_copy

HTTPS = "https://study.example.org"
SCRIPTS = re.compile(r"<script(?! src=\"/static/)|<style|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE)


@pytest.fixture
def https_world(sqlite_url: str, tmp_path: Path) -> Iterator[World]:
    """A server behind https."""
    made = World(tmp_path, sqlite_url, public_url=HTTPS)
    yield made
    made.close()


def toy() -> str:
    """A view that fails."""
    message = "a secret of the server's"
    raise ZeroDivisionError(message)


@pytest.fixture
def failing_world(monkeypatch: pytest.MonkeyPatch, sqlite_url: str, tmp_path: Path) -> Iterator[World]:
    """A server with a page and a part of the API that fail."""
    original = happe_study.web.assembly.blueprints
    failing = Blueprint("failing", __name__)
    failing.get("/failing")(anybody(toy))
    failing.get("/api/v1/failing", endpoint="too")(anybody(toy))
    monkeypatch.setattr(happe_study.web.assembly, "blueprints", lambda: iter([*original(), failing]))
    made = World(tmp_path, sqlite_url)
    made.app.testing = False
    yield made
    made.close()


ANSWERS = [
    ("GET", "/sign-in", 200), ("GET", "/studies", 303), ("GET", "/nowhere", 404), ("GET", "/api/v1/nowhere", 404),
    ("DELETE", "/sign-in", 405), ("OPTIONS", "/api/v1/me", 405), ("GET", "/static/happe.css", 200),
    ("GET", "/failing", 500), ("GET", "/api/v1/failing", 500), ("GET", "/api/v1/me", 401), ("POST", "/sign-in", 400),
    ("GET", "/healthz", 200), ("GET", "/static/../app.py", 404), ("GET", "/p/nobody", 404),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "status"), ANSWERS, ids=[f"{m} {p}" for m, p, _s in ANSWERS])
def test_every_answer_has_its_headers(failing_world: World, method: str, path: str, status: int) -> None:
    answer = failing_world.client().open(path, method=method, buffered=True)
    assert answer.status_code == status
    assert HEADERS.items() <= dict(answer.headers).items()
    assert "Strict-Transport-Security" not in answer.headers
    assert "Access-Control-Allow-Origin" not in answer.headers
    assert ("no-store" in answer.headers.get("Cache-Control", "")) is not path.startswith("/static/happe")
    assert answer.headers.get("Content-Type", "").split(";")[0] in {
        "text/html", "text/css", "text/plain", "application/problem+json",
    }  # fmt: skip
    if status >= HTTPStatus.BAD_REQUEST and path.startswith("/api/"):
        assert answer.content_type == "application/problem+json"
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        assert "GET" in answer.headers["Allow"]
    if status == HTTPStatus.UNAUTHORIZED:
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_mistake_of_the_server_s_tells_nothing_of_it(failing_world: World) -> None:
    for path in ("/failing", "/api/v1/failing"):
        text = failing_world.client().get(path).text
        assert "Zero" not in text
        assert "secret" not in text


def test_no_policy_allows_what_is_inline_and_no_page_has_it(world: World) -> None:
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    client = browser(world, Role.INVESTIGATOR, Role.ADMINISTRATOR)
    for path in ("/studies", "/new-study", "/accounts", "/me", "/me/token", "/password", "/sign-in-again", "/nowhere"):
        assert not SCRIPTS.search(client.get(path).text), path


def test_only_https_is_remembered_by_browsers(https_world: World) -> None:
    assert https_world.client().get("/sign-in").headers["Strict-Transport-Security"] == "max-age=31536000"


def cookie_of(answer: TestResponse) -> str:
    """The session's cookie that an answer sets."""
    (cookie,) = answer.headers.getlist("Set-Cookie")
    return cookie


def test_the_session_s_cookie_is_kept_from_scripts_and_other_sites(world: World, https_world: World) -> None:
    plain = cookie_of(world.client().get("/sign-in"))
    assert re.fullmatch(r"happe_session=[^;]+; HttpOnly; Path=/; SameSite=Lax", plain)
    secure = cookie_of(https_world.client().get("/sign-in", base_url=HTTPS))
    assert re.fullmatch(r"__Host-happe_session=[^;]+; Secure; HttpOnly; Path=/; SameSite=Lax", secure)


def test_the_participant_s_cookie_is_too(https_world: World) -> None:
    study = given_studies.study(https_world, protocol=given_studies.small())
    _row, link = given_participants.participant(https_world, study, enrolled=False)
    client = https_world.client()
    token = given_accounts.token_of(client.get(f"/p/{link}", base_url=HTTPS))
    begun = client.post(f"/p/{link}", data={"csrf_token": token}, base_url=HTTPS)
    (cookie,) = (each for each in begun.headers.getlist("Set-Cookie") if "happe_participant" in each)
    for flag in ("Secure", "HttpOnly", "Path=/p", "SameSite=Strict"):
        assert flag in cookie


def test_no_cookie_changes_anything_without_a_token_against_forgery(world: World) -> None:
    client = browser(world, Role.INVESTIGATOR)
    token = given_accounts.token_of(client.get("/me"))
    protocol = given_studies.small()
    page = {"path": "/new-study", "data": {"protocol": protocol}}
    api = {"path": "/api/v1/studies", "data": protocol, "content_type": "application/toml"}
    for request in (page, api):
        assert client.post(**request).status_code == HTTPStatus.BAD_REQUEST
        forged = client.post(**request, headers={"X-CSRFToken": "x" + token})
        assert forged.status_code == HTTPStatus.BAD_REQUEST
    assert client.post(**api).get_json()["type"] == "urn:happe:problem:csrf"
    with world.database.reading() as session:
        assert session.scalars(select(Study)).all() == []
    assert client.post(**api, headers={"X-CSRFToken": token}).status_code == HTTPStatus.CREATED


def test_a_token_of_another_session_is_none(world: World) -> None:
    client, elsewhere = browser(world), world.client()
    sign_in(elsewhere, "ada@example.org")
    token = given_accounts.token_of(elsewhere.get("/me"))
    answer = client.post("/me/tokens/end", data={"csrf_token": token})
    assert answer.status_code == HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out", "/password", "/sign-in-again"])
def test_signing_in_and_out_can_t_be_forged_either(world: World, path: str) -> None:
    client = browser(world)
    form = {"email": "ada@example.org", "password": PASSWORD}
    assert client.post(path, data=form).status_code == HTTPStatus.BAD_REQUEST
    assert client.get("/me").status_code == HTTPStatus.OK
    stranger = world.client()
    answer = stranger.post("/sign-in", data=form)
    assert answer.status_code == HTTPStatus.BAD_REQUEST
    assert stranger.get("/me").status_code == HTTPStatus.SEE_OTHER


def test_a_bad_token_is_not_made_good_by_a_session(world: World) -> None:
    client = browser(world, Role.INVESTIGATOR)
    for header in ("Bearer x", "Basic eDp5", "Bearer", "bearer  ", "\u00e4"):
        answer = client.get("/api/v1/me", headers={"Authorization": header})
        assert answer.status_code == HTTPStatus.UNAUTHORIZED
        assert client.post("/me/tokens/end", headers={"Authorization": header}).status_code == HTTPStatus.UNAUTHORIZED


def test_a_session_that_was_planted_is_of_no_use_after_the_sign_in(world: World) -> None:
    given_accounts.account(world)
    attacker, victim = world.client(), world.client()
    known = given_accounts.token_of(attacker.get("/sign-in"))
    planted = attacker.get_cookie("happe_session")
    assert planted
    victim.set_cookie("happe_session", planted.value)
    form = {"csrf_token": known, "email": "ada@example.org", "password": PASSWORD}
    assert victim.post("/sign-in", data=form).status_code == HTTPStatus.FOUND
    assert victim.get_cookie("happe_session") != planted
    assert attacker.get("/me").status_code == HTTPStatus.SEE_OTHER
    known = known.partition(BETWEEN)[0] + BETWEEN + given_accounts.token_of(victim.get("/me")).partition(BETWEEN)[2]
    assert victim.post("/me/tokens/end", data={"csrf_token": known}).status_code == HTTPStatus.BAD_REQUEST
    assert post(victim, "/me/tokens/end", page="/me").status_code == HTTPStatus.SEE_OTHER


def test_a_session_ends_by_itself(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    client = browser(world)
    later = time.time() + 12 * 3600 + 60
    monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda _self: int(later))
    assert client.get("/me").status_code == HTTPStatus.SEE_OTHER


def test_links_name_the_public_address_whatever_host_a_request_names(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    client = world.staff(Role.INVESTIGATOR, Role.ADMINISTRATOR)
    evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}
    paths = ("/", "/studies", "/nowhere", "/studies/", "//studies", "/sign-in", f"/studies/{study.name}", "/me")
    for path in (*paths, "/api/v1/openapi.json"):
        answer = client.get(path, headers=evil)
        assert answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
        assert "evil.example" not in answer.text + str(answer.headers), path
    invited = client.post(f"/studies/{study.name}/invite", data={"count": "1"}, headers=evil)
    assert f"{world.config.public_url}/p/" in invited.text
    assert "evil.example" not in invited.text


def test_head_is_get_without_a_body(world: World) -> None:
    client = browser(world)
    for path in ("/sign-in", "/me", "/api/v1/me", "/healthz", "/nowhere"):
        head, get = client.head(path), client.get(path)
        assert (head.status, head.data) == (get.status, b"")
        assert head.content_type == get.content_type


@ON_BOTH
def test_a_path_with_a_nul_is_nowhere(world: World) -> None:
    client = world.staff(Role.INVESTIGATOR, Role.ADMINISTRATOR)
    for path in ("/studies/a%00b", "/api/v1/studies/%00", "/accounts/a%00@x.org", "/api/v1/audit%00", "/p/%00"):
        assert client.get(path).status_code == HTTPStatus.NOT_FOUND


def by_forms(*, of_participants: bool) -> list[tuple[str, str]]:
    """The method and route of all that people can change something by."""
    return [
        (method, row.route)
        for row in MATRIX
        if row.route.startswith("/p/") is of_participants and row.columns.strip(".LM")
        for method in row.methods
        if method != "GET"
    ]


def test_a_participant_s_form_never_acts_for_another(world: World, subtests: pytest.Subtests) -> None:
    # Given a form of one, while another's link was opened in a second tab
    scene = callers.scene(world)
    row, link = given_participants.participant(world, scene.study)
    other, others_link = given_participants.participant(world, scene.study)
    client = given_participants.browser(world, link)
    form = given_participants.hidden(client.get("/p/withdraw").text) | {"confirm": "withdraw"}
    others_page = given_participants.hidden(client.get(f"/p/{others_link}").text)
    assert client.post(f"/p/{others_link}", data=others_page).status_code == HTTPStatus.SEE_OTHER
    before = world.digest()
    scene.arguments["token"] = others_link
    for method, route in by_forms(of_participants=True):
        with subtests.test(route):
            # When
            answer = client.open(scene.path(route), method=method, data=form)
            # Then
            assert answer.status_code == HTTPStatus.CONFLICT
            assert "Another link was opened in this browser" in answer.text
            for theirs in (other.code, others_link, 'href="/p/'):
                assert theirs not in answer.text
            assert world.digest() == before
            assert "Set-Cookie" not in answer.headers
    # A wrong link leads to no participant's pages, also after another participant used the browser
    assert 'href="/p/' not in client.get(f"/p/{link[:-1]}").text
    # When the first link is opened again, then the form in the old tab works
    given = given_participants.hidden(client.get(f"/p/{link}").text)
    assert client.post(f"/p/{link}", data=given).status_code == HTTPStatus.SEE_OTHER
    assert client.post("/p/withdraw", data=form).status_code == HTTPStatus.SEE_OTHER
    states = [given_participants.now(world, each).state for each in (row, other)]
    assert states == ["withdrawn", "enrolled"]


@pytest.mark.parametrize("page", ["/me", "/sign-in"])
def test_a_form_of_staff_never_acts_for_another_account(world: World, subtests: pytest.Subtests, page: str) -> None:
    # Given a page of one account, or from before any sign-in, while another account signed in in a second tab
    scene, client = callers.scene(world), world.client()
    for email in ("ada@example.org", "bob@example.org"):
        given_accounts.account(world, *Role, email=email)
    if page == "/me":
        sign_in(client, "ada@example.org")
    token = given_accounts.token_of(client.get(page))
    if page == "/me":
        post(client, "/sign-out", page=page)
    sign_in(client, "bob@example.org")
    before = world.digest()
    for method, route in by_forms(of_participants=False):
        with subtests.test(f"{method} {route}"):
            # When
            answer = client.open(scene.path(route), method=method, data={"csrf_token": token})
            # Then
            assert answer.status_code == HTTPStatus.CONFLICT
            assert (answer.get_json()["detail"] if answer.is_json else answer.text).count(ANOTHER) == 1
            assert "bob@" not in answer.text
    assert world.digest() == before
    assert post(client, "/me/tokens/end", page="/me").status_code == HTTPStatus.SEE_OTHER


def test_a_link_and_an_account_in_one_browser_do_not_disturb_each_other(world: World) -> None:
    # Given a link that staff open in two tabs of their browser, after somebody else's
    study = given_studies.study(world, protocol=given_studies.small())
    row, link = given_participants.participant(world, study)
    _other, others_link = given_participants.participant(world, study)
    client = browser(world)
    staffs = given_accounts.token_of(client.get("/me"))
    tabs = [client.get(f"/p/{each}").text for each in (others_link, link, link)]
    # When
    for path, tab in zip((others_link, link, link), tabs, strict=True):
        sent = client.post(f"/p/{path}", data=given_participants.hidden(tab))
        assert sent.status_code == HTTPStatus.SEE_OTHER
    # Then each form still works for its owner
    forms = [given_participants.hidden(client.get("/p/withdraw").text) for _tab in range(2)]
    assert client.post("/me/tokens/end", data={"csrf_token": staffs}).status_code == HTTPStatus.SEE_OTHER
    wrong, right = (
        client.post("/p/withdraw", data=form | {"confirm": word})
        for form, word in zip(forms, ("", "withdraw"), strict=True)
    )
    assert (wrong.status_code, right.status_code) == (HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.SEE_OTHER)
    assert given_participants.now(world, row).state == "withdrawn"
    # A participant who has left gets the advice to open the link
    assert client.post("/p/withdraw", data=forms[0]).status_code == HTTPStatus.UNAUTHORIZED


@pytest.mark.slow
def test_looking_changes_nothing(sqlite_url: str, tmp_path: Path) -> None:
    world = World(tmp_path, sqlite_url, limits=LIMITS)
    scene = callers.scene(world)
    sessions = [browser(world, role, email=f"session-{role}@example.org") for role in Role]
    programs = [world.client(token) for (_, where), token in callers.everybody(scene).items() if where != ELSEWHERE]
    before = world.digest()
    for row in (row for row in MATRIX if "GET" in row.methods):
        for client in [*programs, *sessions]:
            client.get(scene.path(row.route), buffered=True)
        assert world.digest() == before, row.route
    world.close()


def test_a_study_may_be_called_what_a_page_is(world: World) -> None:
    with world.database.writing() as session:
        for name in ("new-study", "lock", "static"):
            studies.put(session, given_studies.small(name), None)
    client = browser(world, Role.INVESTIGATOR)
    for name in ("new-study", "lock", "static"):
        assert f'<dd class="code">{name}</dd>' in client.get(f"/studies/{name}").text


Json = dict[str, Any]

OPERATION = {"tags", "summary", "description", "operationId", "parameters", "requestBody", "responses", "security"}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Json:
    """The OpenAPI document."""
    folder = tmp_path_factory.mktemp("document")
    world = World(folder, sqlite_copy(sqlite_template, folder))
    found: Json = world.client().get("/api/v1/openapi.json").json or {}
    world.close()
    return found


def test_the_document_is_openapi(document: Json) -> None:
    assert re.fullmatch(r"3\.1\.\d+", document["openapi"])
    assert document["info"]["title"]
    assert document["info"]["description"]
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)


def test_all_that_the_document_refers_to_is_in_it_and_used(document: Json) -> None:
    names = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(references(document)) == names


def test_each_operation_is_described(document: Json) -> None:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            where = f"{method} {path}"
            assert method in {"get", "put", "post", "delete"}, where
            assert operation.keys() <= OPERATION, where
            assert operation["summary"].endswith("."), where
            assert operation["security"] is not None, where
            assert len(operation["tags"]) == 1, where
            assert all(answer["description"] for answer in operation["responses"].values()), where
            assert set(re.findall(r"{(\w+)}", path)) == {
                each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"
            }, where


def test_each_tag_is_listed_once(document: Json) -> None:
    used = {tag for item in document["paths"].values() for operation in item.values() for tag in operation["tags"]}
    listed = [tag["name"] for tag in document["tags"]]
    assert sorted(listed) == sorted(used)


def references(node: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Every $ref in a document."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for child in node.values():
            yield from references(child)
    elif isinstance(node, list):
        for child in node:
            yield from references(child)
