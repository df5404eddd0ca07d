# SPDX-License-Identifier: GPL-2.0-or-later
"""The OpenAPI document is valid, and describes everything in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from world import World, sqlite_copy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
