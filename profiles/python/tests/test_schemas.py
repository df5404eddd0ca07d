# SPDX-License-Identifier: GPL-2.0-or-later
"""The schemas of profiles/, and how documents are checked against them."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from happe_contract.faults import BadDocumentError
from happe_contract.schemas import MOST_BYTES, SCHEMAS, UPLOADS, Kind, check, read

Json = dict[str, Any]


def schema(kind: Kind) -> Json:
    document: Json = json.loads((SCHEMAS / f"{kind}.schema.json").read_text(encoding="utf-8"))
    return document


def subschemas(node: object) -> Iterator[Json]:
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from subschemas(child)
    elif isinstance(node, list):
        for child in node:
            yield from subschemas(child)


@pytest.mark.parametrize("kind", Kind)
def test_a_schema_obeys_the_metaschema(kind: Kind) -> None:
    jsonschema_rs.meta.validate(schema(kind))
    assert schema(kind)["$id"] == f"https://happe.invalid/schema/{kind}.schema.json"


@pytest.mark.parametrize("kind", UPLOADS)
def test_a_schema_bounds_everything(kind: Kind) -> None:
    bounds = {
        "string": {"maxLength", "pattern"},
        "array": {"maxItems"},
        "integer": {"maximum"},
        "number": {"maximum"},
    }
    for each in subschemas(schema(kind)):
        if (each_type := each.get("type")) in bounds:
            assert bounds[each_type] & set(each), each
        if "patternProperties" in each:
            assert "maxProperties" in each


@pytest.mark.parametrize("kind", Kind)
def test_the_pattern_of_a_schema_has_an_end(kind: Kind) -> None:
    patterns = [each["pattern"] for each in subschemas(schema(kind)) if isinstance(each.get("pattern"), str)]
    assert all(pattern.startswith("^") and pattern.endswith("$") for pattern in patterns)


def test_a_document_longer_than_its_limit_is_not_read() -> None:
    with pytest.raises(BadDocumentError, match=f"is longer than {MOST_BYTES[Kind.POWER_TRACE]} bytes"):
        read(Kind.POWER_TRACE, b" " * (MOST_BYTES[Kind.POWER_TRACE] + 1))


def test_ones_own_document_is_checked_as_it_is() -> None:
    check(Kind.POWER_MEASURES, {"format": "happe-power-measures/1", "measures": []})
    with pytest.raises(BadDocumentError, match='has an unknown field "more"'):
        check(Kind.POWER_MEASURES, {"format": "happe-power-measures/1", "measures": [], "more": 1})
