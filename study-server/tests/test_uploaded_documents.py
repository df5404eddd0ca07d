# SPDX-License-Identifier: GPL-2.0-or-later
"""Uploads: errors name the place and the reason, without repeating the content."""

import json
import re
import sys
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import records
from happe_contract.faults import MOST_FAULTS, BadDocumentError, Fault
from happe_contract.schemas import UPLOADS, WITH_FRACTIONS, Kind, read
from uploads import CASES, GOOD, take, upload

Json = dict[str, Any]

MOST_ECHOED = 80


def faults_of(kind: Kind, raw: bytes) -> tuple[Fault, ...]:
    with pytest.raises(BadDocumentError) as caught:
        take(kind, raw)
    return caught.value.faults


@pytest.mark.parametrize("kind", UPLOADS)
def test_a_good_document_passes_padded_so_that_its_size_tells_nothing_and_however_it_is_escaped(kind: Kind) -> None:
    raw = records.encode(GOOD[kind])
    take(kind, raw)
    take(kind, raw.ljust(32768))
    escaped = json.dumps(GOOD[kind], indent=1).replace("o", "\\u006f").encode()  # no keyword of JSON has an o
    assert read(kind, escaped) == GOOD[kind]


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


@pytest.mark.parametrize("kind", UPLOADS)
def test_a_whole_number_is_an_int_in_what_is_checked(kind: Kind) -> None:
    document = read(kind, records.encode(GOOD[kind]))
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


@given(st.sampled_from(UPLOADS), st.binary(max_size=300))
@settings(deadline=None)
def test_bytes_of_any_kind_are_only_ever_bad(kind: Kind, raw: bytes) -> None:
    assert faults_of(kind, raw)


@given(st.sampled_from(UPLOADS), st.data())
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
        pass  # the change is half of a surrogate pair, which this test can't encode
