# SPDX-License-Identifier: GPL-2.0-or-later
"""The API keeps its OpenAPI document for all requests and callers. schemathesis tries every operation.

Every kind of caller gets a copy of one furnished server, so a caller who ends something (devices, accounts, the
blinding) does not spoil another's test. The examples are the same each time.
"""

from __future__ import annotations

import os
import re
import shutil
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.transport.serialization import Binary
from sqlalchemy import select

from given_devices import PARQUET
from good_requests import API, Good, good_requests
from happe_study.access import rules
from happe_study.access.rights import RIGHTS, Right, Role
from happe_study.access.rules import Who
from happe_study.audit.verify import verify_log
from happe_study.design.study import Study, StudyState
from happe_study.runs.course.models import Run
from scene import CALLERS, UNLIMITED, Scene, furnish
from world import World, sqlite_copy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from schemathesis import Response
    from schemathesis.generation.case import Case as AnyCase

    Case = AnyCase[Any]

Json = dict[str, Any]
Operation = tuple[str, str]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
EXAMPLES = int(os.environ.get("HAPPE_EXAMPLES", "4"))  # of each operation; `tools/validate.sh fuzz` has more
EXAMPLES_REFUSED = max(2, EXAMPLES // 4)
SUCCESSES = {HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT}
REFUSALS = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}
OPTIONS = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@schemathesis.serializer("application/toml", PARQUET)
def as_it_is(_context: object, value: Any) -> bytes:  # noqa: ANN401 - any generated value
    """Encode bodies of media types that schemathesis does not know."""
    content = value.data if isinstance(value, Binary) else value
    return content if isinstance(content, bytes) else str(content).encode()


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> tuple[Path, Scene]:
    """The folder of a stopped server with objects of all kinds, and its scene."""
    folder = tmp_path_factory.mktemp("furnished")
    world = World(folder, sqlite_copy(sqlite_template, folder), limits=UNLIMITED)
    scene = furnish(world)
    world.close()
    return folder, scene


@pytest.fixture
def scene(furnished: tuple[Path, Scene]) -> Scene:
    """The server's scene."""
    return furnished[1]


@pytest.fixture
def server(furnished: tuple[Path, Scene], tmp_path: Path) -> Iterator[World]:
    """A copy of the furnished server."""
    folder = shutil.copytree(furnished[0], tmp_path / "server")
    world = World(folder, f"sqlite:///{folder / 'server.db'}", limits=UNLIMITED)
    yield world
    world.close()


@pytest.fixture(scope="module")
def document(furnished: tuple[Path, Scene]) -> Json:
    """The OpenAPI document."""
    world = World(furnished[0], f"sqlite:///{furnished[0] / 'server.db'}")
    found: Json = world.client().get(f"{API}/openapi.json").json or {}
    world.close()
    return found


def test_each_operation_succeeds_for_somebody_as_documented(server: World, scene: Scene, document: Json) -> None:
    schema = load(server)
    tried = set()
    for good in good_requests(scene):
        case = case_of(schema, good)
        response = call(case, scene.tokens.get(good.who))
        assert response.status_code in SUCCESSES, (good.operation, response.text)
        case.validate_response(response, checks=CHECKS)
        tried.add(good.operation)
    assert tried == operations(document)


@pytest.mark.parametrize("who", CALLERS)
def test_nobody_gets_an_answer_that_is_not_documented(server: World, scene: Scene, document: Json, who: str) -> None:
    tried = dict.fromkeys(operations(document), 0)
    for found in load(server).get_all_operations():
        operation = found.ok()
        allowed = may(rule_of(server, operation), who)
        for case, response in answers(operation, scene, who, EXAMPLES if allowed else EXAMPLES_REFUSED):
            assert allowed or response.status_code in REFUSALS, (case, response.status_code)
            tried[operation.method.upper(), operation.path] += 1
    assert [operation for operation, times in tried.items() if not times] == []
    assert_sane(server, who)


def test_every_operation_with_a_token_says_so(document: Json, server: World) -> None:
    for operation in load(server).get_all_operations():
        found = operation.ok()
        security = document["paths"][found.path][found.method]["security"]
        assert security == ([] if rule_of(server, found).who is Who.ANYBODY else [{"token": []}])


def load(world: World) -> Any:  # noqa: ANN401 - schemathesis' own class is not exported
    """The schema that schemathesis makes of a server's document."""
    return schemathesis.openapi.from_wsgi(f"{API}/openapi.json", world.app)


def operations(document: Json) -> set[Operation]:
    """Every method and path of a document."""
    return {(method.upper(), path) for path, item in document["paths"].items() for method in item}


def case_of(schema: Any, good: Good) -> Case:  # noqa: ANN401 - schemathesis's
    """A good request as a case of schemathesis."""
    sends = {} if good.body is None else {"body": good.body, "media_type": good.media_type}
    case: Case = schema[API + good.path][good.method].Case(
        path_parameters=good.parameters, query=good.query, headers=good.headers, **sends
    )
    return case


def call(case: Case, token: str | None) -> Response:
    """Send a case as a caller."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return case.call(headers=headers)


def answers(operation: Any, scene: Scene, who: str, examples: int) -> list[tuple[Case, Response]]:  # noqa: ANN401 - schemathesis's
    """Generate cases of an operation, send them as a caller, and compare each answer with the document."""
    answered = []

    @settings(OPTIONS, max_examples=examples)
    @given(case=operation.as_strategy(), data=st.data())
    def tries(case: Case, data: st.DataObject) -> None:
        name_something(case, scene, data)
        if data.draw(st.booleans()):
            case.headers.pop("Authorization", None)  # a token that schemathesis has invented
        response = call(case, scene.tokens.get(who))
        case.validate_response(response, checks=CHECKS)
        answered.append((case, response))

    tries()
    return answered


def name_something(case: Case, scene: Scene, data: st.DataObject) -> None:
    """Let three of four path parameters name an existing thing."""
    for name, values in scene.values(case.path).items():
        if name in case.path_parameters and data.draw(st.integers(0, 3)):
            case.path_parameters[name] = data.draw(st.sampled_from(values))


def rule_of(world: World, operation: Any) -> rules.Rule:  # noqa: ANN401 - schemathesis's
    """The access rule of an operation."""
    path = re.sub(r"{\w+}", "1", operation.path).replace("/traces/1", f"/traces/{ANY_UUID}")
    path = re.sub(r"/(record|clocks)/1$", rf"/\1/{ANY_UUID}", path)
    endpoint, _arguments = world.app.url_map.bind("localhost").match(path, operation.method.upper())
    found = rules.rule_of(world.app, endpoint)
    assert found is not None
    return found


ANY_UUID = "00000000-0000-4000-8000-000000000000"


def may(rule: rules.Rule, who: str) -> bool:
    """Whether a rule allows a kind of caller."""
    if rule.who is Who.ANYBODY:
        return True
    if rule.who is Who.DEVICE:
        return who in {"laptop", "meter"} and rule.device_kind in {None, who}
    if who in {"anybody", "participant", "laptop", "meter"}:
        return who == rule.who
    return rule.right is None or rule.right in rights_of(who)


def rights_of(role: str) -> frozenset[Right]:
    """The rights of a role of staff."""
    return RIGHTS[Role(role)]


def assert_sane(world: World, who: str) -> None:
    """Assert that the audit log is complete, and that the database has no condition unless the study is unblinded."""
    with world.database.reading() as session:
        assert verify_log(session).is_whole
        plain = select(Run.code).where(Run.condition.is_not(None))
        still_blind = set(session.scalars(select(Study.state))) <= {StudyState.DRAFT, StudyState.LOCKED}
        assert still_blind or who == "custodian"
        assert (session.scalars(plain).all() == []) or not still_blind
    assert world.client().get("/healthz").status_code == HTTPStatus.OK
