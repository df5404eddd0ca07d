# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may call what: every route and method of the application, by every caller.

This test computes the expected answers again, from the route's rule and the table of rights.
"""

import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from flask import Blueprint, Flask
from werkzeug.routing import Rule as Url
from werkzeug.test import TestResponse

import callers
import happe_study.web.assembly
from callers import ELSEWHERE, EVERYWHERE, HERE, Scene, Somebody
from happe_study.base.config import Config
from happe_study.model.rights import RIGHTS, Right, Role
from happe_study.model.rules import Rule, Who, rule_of
from happe_study.web.assembly import create_app
from world import World, fixed_secrets

OFTEN = "1000000 per minute"
LIMITS = {"login": OFTEN, "enrol": OFTEN, "participant": OFTEN}
SAFE = {"GET", "HEAD", "OPTIONS"}
# An endpoint has one rule for all methods. These two come with each GET, and one caller of each kind tries them.
BESIDE_GET = {"HEAD", "OPTIONS"}
ONE_OF_EACH = {
    "anybody",
    "participant",
    "laptop",
    "meter",
    "staff without a role",
    *(f"{Role.AUDITOR} {where}" for where in (HERE, ELSEWHERE, EVERYWHERE)),
    "revoked",
}
KNOW_SESSIONS_ALONE = {"security.verify", "security.change_password"}  # they redirect a token to the sign-in
REFUSALS = re.compile(rb"urn:happe:problem:(unauthorized|bad-token|forbidden|sign-in-again)")


def _app() -> Flask:
    return create_app(Config(data=Path("/nowhere")), fixed_secrets())


APP = _app()
CELLS = [(url, method) for url in APP.url_map.iter_rules() for method in sorted(url.methods or ())]


@pytest.fixture(scope="module")
def scene(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """A scene for all cells. A caller whose token has ended gets another one."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "server.db").write_bytes(sqlite_template.read_bytes())
    world = World(folder, f"sqlite:///{folder / 'server.db'}", limits=LIMITS)
    yield callers.scene(world)
    world.close()


@pytest.mark.slow
def test_a_route_answers_those_whom_its_rule_names_and_nobody_else(scene: Scene, subtests: pytest.Subtests) -> None:
    for url, method in CELLS:
        with subtests.test(f"{method} {url.rule}"):
            rule = rule_of(APP, url.endpoint)
            assert rule is not None
            wrong = []
            for name, caller in list(scene.callers.items()):
                if method in BESIDE_GET and name not in ONE_OF_EACH:
                    continue
                answer = _call(scene, url, method, caller)
                expected = _expected(rule, caller, in_a_study="study" in url.arguments)
                if not _is_as_expected(answer, expected, led=url.endpoint in KNOW_SESSIONS_ALONE):
                    wrong.append(f"{name}: {answer.status}, expected {expected or 'to be let in'}")
                if caller.kind is Who.STAFF and method not in SAFE and answer.status_code < HTTPStatus.BAD_REQUEST:
                    scene.callers[name] = callers.renewed(scene.world, caller)
            assert not wrong, "\n".join(wrong)


def _call(scene: Scene, url: Url, method: str, caller: Somebody) -> TestResponse:
    with scene.world.app.test_request_context():
        path = scene.world.app.url_map.bind("localhost").build(url.endpoint, scene.view_args(url), method=method)
    return scene.world.client(caller.token).open(path, method=method, buffered=True)


def _expected(rule: Rule, caller: Somebody, *, in_a_study: bool) -> HTTPStatus | None:
    """The status of the refusal of a caller; None: the server lets the caller in."""
    if caller.kind is None:
        return HTTPStatus.UNAUTHORIZED
    if rule.who is Who.ANYBODY:
        return None
    if caller.kind is Who.ANYBODY:
        return HTTPStatus.UNAUTHORIZED
    if caller.kind is not rule.who or rule.device_kind not in (None, caller.device_kind):
        return HTTPStatus.FORBIDDEN
    return _expected_of_role(rule, rule.right, caller, in_a_study=in_a_study) if rule.right else None


def _expected_of_role(rule: Rule, right: Right, caller: Somebody, *, in_a_study: bool) -> HTTPStatus | None:
    if in_a_study and caller.where in (None, ELSEWHERE):
        return HTTPStatus.NOT_FOUND
    holds = caller.role is not None and right in RIGHTS[caller.role]
    reaches = caller.where == EVERYWHERE or not rule.everywhere
    return None if holds and reaches else HTTPStatus.FORBIDDEN


def _is_as_expected(answer: TestResponse, expected: HTTPStatus | None, *, led: bool) -> bool:
    if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return False
    to_sign_in = answer.headers.get("Location", "").startswith("/sign-in?next=")
    if expected is HTTPStatus.UNAUTHORIZED and to_sign_in:
        return True
    if expected is not None:
        return answer.status_code == expected
    if answer.status_code in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):  # the view refuses, such as a wrong code
        return answer.is_json and not REFUSALS.search(answer.data)
    return led or not to_sign_in


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
