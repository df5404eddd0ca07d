# SPDX-License-Identifier: GPL-2.0-or-later
"""The schemas of uploads, and that what breaks them is told where and why, without repeating it."""

from __future__ import annotations

import json
import re
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import records
from happe_study import strict_json
from happe_study.contract import MOST_BYTES, WITH_FRACTIONS, Contract, Kind, check, schema_folder
from happe_study.faults import MOST_FAULTS, BadDocumentError, Fault, pointer, quoted
from uploads import CASES, GOOD, take, upload

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = dict[str, Any]

AT_LEAST = 250
MOST_ECHOED = 80


def schema(kind: Kind) -> Json:
    document: Json = json.loads((schema_folder() / f"{kind}.schema.json").read_text(encoding="utf-8"))
    return document


def subschemas(node: object) -> Iterator[Json]:
    if isinstance(node, dict):
        yield node
        for child in node.values():
            yield from subschemas(child)
    elif isinstance(node, list):
        for child in node:
            yield from subschemas(child)


def faults_of(kind: Kind, raw: bytes) -> tuple[Fault, ...]:
    with pytest.raises(BadDocumentError) as caught:
        take(kind, raw)
    return caught.value.faults


@pytest.mark.parametrize("kind", Kind)
def test_a_schema_obeys_the_metaschema(kind: Kind) -> None:
    jsonschema_rs.meta.validate(schema(kind))
    assert schema(kind)["$id"] == f"https://happe.invalid/schema/{kind}.schema.json"


@pytest.mark.parametrize("kind", Kind)
def test_a_schema_admits_nothing_unknown_and_says_what_each_field_means(kind: Kind) -> None:
    objects = [each for each in subschemas(schema(kind)) if each.get("type") == "object"]
    assert objects
    assert all(each["additionalProperties"] is False for each in objects)
    fields = [field for each in objects for field in each.get("properties", {}).values()]
    assert all({"description", "$ref", "items", "const"} & set(field) for field in fields)


@pytest.mark.parametrize("kind", Kind)
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


@pytest.mark.parametrize("kind", Kind)
def test_a_good_document_passes(kind: Kind) -> None:
    take(kind, records.encode(GOOD[kind]))


@pytest.mark.parametrize("kind", Kind)
def test_a_good_document_may_be_padded_so_that_its_size_tells_nothing(kind: Kind) -> None:
    take(kind, records.encode(GOOD[kind]).ljust(32768))


@pytest.mark.parametrize("kind", Kind)
def test_a_good_document_passes_however_its_text_is_escaped(kind: Kind) -> None:
    raw = json.dumps(GOOD[kind], indent=1).replace("o", "\\u006f").encode()  # no literal of JSON has an o
    assert check(kind, raw) == GOOD[kind]


def test_there_are_bad_uploads_enough() -> None:
    assert len(CASES) >= AT_LEAST
    assert len({case["name"] for case in CASES}) == len(CASES)
    assert {case["kind"] for case in CASES} == set(Kind)


def test_a_bad_upload_is_told_where_and_why(subtests: pytest.Subtests) -> None:
    for case in CASES:
        with subtests.test(case["name"]):
            found = faults_of(Kind(case["kind"]), upload(case))

            assert len(found) == len(case["faults"])
            told = sorted((fault.pointer, fault.detail) for fault in found)
            for (at, detail), (expected_at, expected) in zip(told, sorted(map(tuple, case["faults"])), strict=True):
                assert at == expected_at
                assert detail.startswith(expected[:-1]) if expected.endswith("*") else detail == expected
            for fault in found:
                assert_says_little_and_nothing_that_a_terminal_obeys(fault)


def assert_says_little_and_nothing_that_a_terminal_obeys(fault: Fault) -> None:
    echoed = re.findall(r'"((?:[^"\\]|\\.)*)"', fault.detail)
    assert all(len(json.loads(f'"{text}"')) <= MOST_ECHOED for text in echoed)
    assert fault.detail.isprintable()
    assert fault.pointer.isprintable()


def test_a_field_of_a_megabyte_is_not_repeated() -> None:
    name = "x" * 1_000_000
    for raw in (f'{{"{name}":1}}', f'{{"{name}":1,"{name}":2}}', f'{{"run":"{name}"}}', f'{{"rating":1.{"1" * 4000}}}'):
        for fault in faults_of(Kind.RUN_RECORD, raw.encode()):
            assert len(fault.detail) < 2 * MOST_ECHOED + len("has the number")


def test_of_faults_without_number_twenty_are_told() -> None:
    raw = json.dumps({f"unknown{number}": 1 for number in range(100)} | {"notes": [1] * 50}).encode()
    assert 0 < len(faults_of(Kind.RUN_RECORD, raw)) <= MOST_FAULTS


def test_a_document_all_of_faults_costs_little_memory() -> None:
    raw = b'{"observations":[' + b",".join([b'{"a":"x"}'] * 14_400) + b"]}"
    tracemalloc.start()
    faults_of(Kind.RUN_RECORD, raw)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * len(raw)


@pytest.mark.parametrize("kind", Kind)
def test_a_whole_number_is_an_int_in_what_is_checked(kind: Kind) -> None:
    document = check(kind, records.encode(GOOD[kind]))
    numbers = [node for node in _leaves(document) if isinstance(node, float)]
    assert bool(numbers) == (kind in WITH_FRACTIONS)
    assert not any(number.is_integer() for number in numbers)


def _leaves(node: object) -> Iterator[object]:
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _leaves(child)
    else:
        yield node


def test_a_document_that_is_bad_near_the_end_of_the_stack_is_only_bad() -> None:
    def deep(frames: int) -> tuple[Fault, ...]:
        return deep(frames - 1) if frames else faults_of(Kind.RUN_RECORD, b"[" * 60 + b"]" * 60)

    assert deep(sys.getrecursionlimit() // 2) == (Fault("", "must be an object"),)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


@given(json_values)
@settings(deadline=None)
def test_whatever_json_there_is_is_read_as_the_library_reads_it_or_refused(value: object) -> None:
    raw = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        read = strict_json.read(raw, fractions=True)
    except BadDocumentError:
        return
    assert read == json.loads(raw)


@given(st.sampled_from(Kind), st.binary(max_size=300))
@settings(deadline=None)
def test_bytes_of_any_kind_are_only_ever_bad(kind: Kind, raw: bytes) -> None:
    assert faults_of(kind, raw)


@given(st.sampled_from(Kind), st.data())
@settings(deadline=None, max_examples=200)
def test_a_good_document_with_one_value_changed_is_good_or_bad_and_nothing_else(
    kind: Kind, data: st.DataObject
) -> None:
    document = json.loads(json.dumps(GOOD[kind]))
    place = document
    while isinstance(place, dict | list) and place:
        name = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if data.draw(st.booleans()) or not isinstance(place[name], dict | list) or not place[name]:
            place[name] = data.draw(json_values)
            break
        place = place[name]
    try:
        take(kind, records.encode(document))
    except BadDocumentError as bad:
        assert 1 <= len(bad.faults) <= MOST_FAULTS  # noqa: PT017 - either outcome is right
    except UnicodeEncodeError:
        pass  # the change is half of a surrogate pair, which this test's writer can't write


def test_a_pointer_escapes_what_rfc_6901_says() -> None:
    assert pointer(["a/b", "m~n", 0, ""]) == "/a~1b/m~0n/0/"


def test_what_is_quoted_is_cut_and_escaped() -> None:
    assert quoted('a"\x1b\ud800') == '"a\\"\\u001b\\ud800"'
    assert len(quoted("x" * 1000)) < MOST_ECHOED


def test_a_folder_without_schemas_is_no_contract(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        Contract(tmp_path)


def test_every_limit_of_bytes_is_said_in_the_documents() -> None:
    described = {kind: schema(kind)["description"] for kind in Kind}
    for kind, most in MOST_BYTES.items():
        unit = f"{most // 1024**2} MiB" if most >= 1024**2 else f"{most // 1024} KiB"
        assert f"At most {unit}" in described[kind]
