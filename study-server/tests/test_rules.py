# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may call what: every route and method by every caller, as data/matrix.txt says. No view runs meanwhile."""

from collections import Counter
from collections.abc import Iterator
from functools import wraps
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from flask import Blueprint, Flask
from flask.testing import FlaskClient
from jinja2 import FunctionLoader
from sqlalchemy import update
from werkzeug.test import TestResponse

import callers
import given_accounts
import happe_study.web.assembly
from callers import CLIENT_ID, ELSEWHERE, EVERYWHERE, HERE, LIMITS, MATRIX, ROLES, Scene, Who
from happe_study.base.clock import now_us
from happe_study.base.codes import digest
from happe_study.base.config import Config
from happe_study.model.accounts import Account, Token
from happe_study.model.rights import Role
from happe_study.web.assembly import create_app
from world import World, fixed_secrets, sqlite_copy

MINUTE_US = 60_000_000


class Stage:
    """A server whose views only say that they let somebody in, and programs and a browser of everybody."""

    def __init__(self, world: World) -> None:
        self.scene: Scene = callers.scene(world)
        self.scene.arguments["token"] = CLIENT_ID  # nobody's link
        self.tokens = callers.everybody(self.scene)
        self.clients: dict[Who, FlaskClient] = {who: world.client(token) for who, token in self.tokens.items()}
        stranger = self.clients["N", ""]
        stranger.environ_base["HTTP_X_CSRFTOKEN"] = given_accounts.token_of(stranger.get("/sign-in"))
        self.grants = {
            who: stage_client.get("/api/v1/me").get_json()["grants"]
            for who, stage_client in self.clients.items()
            if who[0] in ROLES
        }
        world.app.jinja_env = world.app.jinja_env.overlay(loader=FunctionLoader(lambda _name: ""))
        for endpoint, view in world.app.view_functions.items():
            world.app.view_functions[endpoint] = _open(view)

    def said(self, who: Who, method: str, route: str) -> str:
        """What the server says to a caller."""
        return said(self.clients[who].open(self.scene.path(route), method=method))


def _open(view: Any) -> Any:  # noqa: ANN401 - a view, whose rule the other one keeps
    return wraps(view)(lambda **_: "let in")


def said(answer: TestResponse) -> str:
    """An answer in the words of `callers.Row.answer`."""
    place = answer.headers.get("Location", "")
    if place.startswith(("/sign-in?next=", "/sign-in-again?next=")):
        return place[1:].partition("?")[0].replace("-", " ")
    return answer.text if answer.status_code == HTTPStatus.OK else str(answer.status_code)


@pytest.fixture(scope="module")
def stage(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage for all cells."""
    folder = tmp_path_factory.mktemp("rules")
    world = World(folder, sqlite_copy(sqlite_template, folder), limits=LIMITS)
    yield Stage(world)
    world.close()


def _app() -> Flask:
    return create_app(Config(data=Path("/nowhere")), fixed_secrets())


def test_the_matrix_has_every_route_and_method_once() -> None:
    routes = Counter((method, url.rule) for url in _app().url_map.iter_rules() for method in url.methods or ())
    rows = Counter((method, row.route) for row in MATRIX for method in row.methods)
    flasks = Counter(("HEAD", route) for method, route in rows if method == "GET")
    flasks.update(("OPTIONS", route) for route in ("/static/<path:filename>", "/api/v1/openapi.json"))
    assert rows + flasks == routes


def test_the_server_answers_those_whom_the_matrix_names_and_nobody_else(
    stage: Stage, subtests: pytest.Subtests
) -> None:
    for row in MATRIX:
        for method in row.methods:
            with subtests.test(f"{method} {row.route}"):
                expected = row.answers(method)
                assert {who: stage.said(who, method, row.route) for who in expected} == expected


def test_every_role_that_is_given_is_read_back(stage: Stage) -> None:
    places = {HERE: "here", ELSEWHERE: "elsewhere", EVERYWHERE: None}
    assert stage.grants == {
        (column, where): [{"role": role, "study": study}]
        for column, role in ROLES.items()
        for where, study in places.items()
    }


def test_what_cannot_be_undone_takes_a_password_of_the_last_five_minutes(stage: Stage) -> None:
    world, token = stage.scene.world, stage.scene.world.account(*Role)
    program = world.client(token)
    for minutes, refused in ((4, {"let in"}), (6, {"403", "sign in again"})):
        with world.database.writing() as session:
            ago = now_us() - minutes * MINUTE_US
            session.execute(update(Token).where(Token.sha256 == digest(token)).values(proven_us=ago))
        for row in (row for row in MATRIX if "D" in row.columns or "C" in row.columns):
            for method in row.methods:
                answer = said(program.open(stage.scene.path(row.route), method=method))
                assert answer in (refused if row.again else {"let in"}), (minutes, method, row.route)


def test_a_token_that_has_ended_is_nobody_s(stage: Stage) -> None:
    world = stage.scene.world
    token = world.account(Role.INVESTIGATOR, email="ended@example.org")
    mine, owner = Token.sha256 == digest(token), Account.email == "ended@example.org"
    changes = (
        (update(Token).where(mine).values(expires_us=now_us() - 1), update(Token).where(mine).values(expires_us=None)),
        (update(Token).where(mine).values(revoked_us=now_us()), update(Token).where(mine).values(revoked_us=None)),
        (update(Account).where(owner).values(active=False), update(Account).where(owner).values(active=True)),
        (update(Account).where(owner).values(password_given=True), update(Account).values(password_given=False)),
    )
    for change, back in changes:
        for statement, status in ((change, "401"), (back, "let in")):
            with world.database.writing() as session:
                session.execute(statement)
            for path in ("/me", "/api/v1/me", "/healthz"):
                assert said(world.client(token).get(path)) == status


def test_a_route_without_a_rule_keeps_the_server_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = Blueprint("toy", __name__)
    toy.get("/toy")(lambda: "toy")
    monkeypatch.setattr(happe_study.web.assembly, "blueprints", lambda: iter([toy]))
    with pytest.raises(RuntimeError, match=r"endpoints without a rule: toy\.<lambda>"):
        _app()


def test_a_route_that_comes_without_a_rule_later_is_closed() -> None:
    app = _app()
    app.add_url_rule("/late", "late", lambda: "late")
    assert app.test_client().get("/late").status_code == HTTPStatus.FORBIDDEN
