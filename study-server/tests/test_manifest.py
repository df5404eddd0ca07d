# SPDX-License-Identifier: GPL-2.0-or-later
"""Power traces' headers and manifests, and which parts have arrived. data/bad_uploads.jsonl has bad ones."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import records
from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_contract.schemas import MOST_BYTES, Kind
from happe_study.study.traces.manifest import Comparison, check_header, check_manifest, compare, gaps_of, missing

Json = dict[str, Any]


def accept(document: Json, first_index: int = 0) -> int:
    """Check a manifest as if it was sent to its own trace's address, and return how many indices its gaps have."""
    read = schemas.read(Kind.POWER_TRACE_MANIFEST, records.encode(document))
    check_manifest(read, trace=document["trace"], first_index=first_index)
    return sum(gap.to_index - gap.from_index for gap in gaps_of(read))


def accept_header(document: Json) -> Json:
    """Check a header as if it was sent to its own trace's address, and return what was read."""
    read: Json = schemas.read(Kind.POWER_TRACE, records.encode(document))
    check_header(read, trace=document["id"])
    return read


def contents(count: int) -> dict[int, str]:
    """The digests of the parts on a server that has all parts of `records.power_manifest(count)`."""
    return {part["number"]: part["sha256"] for part in records.power_manifest(count)["parts"]}


def test_a_header_without_calibration_passes() -> None:
    assert accept_header(records.power_header() | {"calibration": None})["calibration"] is None


def test_a_laptop_may_measure_itself() -> None:
    document = records.power_header(meter="1APT0PAA") | {
        "source": {"kind": "powercap", "device": "intel-rapl:0"},
        "channels": [
            {"name": "package", "measures": "energy", "unit": "J", "dtype": "int64", "scale": 1e-6, "offset": 0}
        ],
        "rate_hz": 10,
        "calibration": None,
    }
    header = accept_header(document)
    assert header["meter"] == header["measured"]


@given(st.integers(0, 30), st.dictionaries(st.integers(0, 29), st.integers(1, 10**9)))
@settings(deadline=None)
def test_a_manifest_whose_indices_are_all_accounted_for_passes(parts: int, gaps: dict[int, int]) -> None:
    lost = sum(length for number, length in gaps.items() if number < parts)
    assert accept(records.power_manifest(parts, gaps=tuple(gaps.items()))) == lost


@given(st.integers(1, 10), st.data())
@settings(deadline=None)
def test_a_manifest_with_one_index_unaccounted_for_does_not(parts: int, data: st.DataObject) -> None:
    document = records.power_manifest(parts, gaps=((0, 500),))
    field, amount = (
        data.draw(st.sampled_from(["first_index", "samples", "end_index", "gap"])),
        data.draw(st.sampled_from([-1, 1])),
    )
    place = {
        "end_index": (document, "end_index"),
        "gap": (document["gaps"][0], "to_index"),
    }.get(field) or (document["parts"][data.draw(st.integers(0, parts - 1))], field)
    place[0][place[1]] += amount
    with pytest.raises(BadDocumentError):
        accept(document)


def test_a_gap_within_a_part_counts_to_it() -> None:
    document = records.power_manifest(2)
    document["gaps"] = [{"from_index": 10, "to_index": 1_000_010, "reason": "stall"}]
    document["parts"][1]["first_index"] += 1_000_000
    document["end_index"] += 1_000_000
    assert accept(document) == 1_000_000


def test_a_gap_may_stand_before_the_first_part_and_after_the_last() -> None:
    document = records.power_manifest(1)
    document["parts"][0]["first_index"] = 107
    document["gaps"] = [
        {"from_index": 100, "to_index": 107, "reason": "invalid"},
        {"from_index": 1_000_107, "to_index": 1_000_110, "reason": "killed"},
    ]
    document |= {"end_index": 1_000_110, "time_base": []}
    assert accept(document, first_index=100) == 10


def test_a_recording_that_lost_everything_is_a_manifest_without_parts() -> None:
    document = records.power_manifest(0) | {
        "gaps": [{"from_index": 0, "to_index": 99, "reason": "unplugged"}],
        "end_index": 99,
    }
    assert accept(document) == 99


def test_the_wall_clock_may_be_set_back_while_it_records() -> None:
    document = records.power_manifest(1)
    document["ended"]["realtime_us"] -= 10**12
    assert accept(document) == 0


def test_the_longest_trace_and_its_gaps_are_within_the_limit() -> None:
    document = records.power_manifest(32768, gaps=tuple((number, 9) for number in range(16384)))
    assert len(records.encode(document)) < MOST_BYTES[Kind.POWER_TRACE_MANIFEST]
    assert accept(document) == 16384 * 9


def test_a_trace_is_whole_when_every_part_is_here_with_its_bytes() -> None:
    assert compare(contents(3), contents(3)) == Comparison((), (), ())
    assert compare(contents(3), contents(3)).whole


def test_what_is_not_here_or_otherwise_or_too_much_is_told_apart() -> None:
    received = contents(6)
    del received[0], received[3]
    received[1] = "0" * 64

    compared = compare(contents(5), received)

    assert compared == Comparison(missing=(0, 3), mismatched=(1,), unexpected=(5,))
    assert not compared.whole


@given(st.integers(0, 200), st.sets(st.integers(0, 220)))
def test_numbers_are_missing_that_were_not_received(count: int, received: set[int]) -> None:
    assert missing(count, received, most=1000) == sorted(set(range(count)) - received)


def test_no_more_missing_numbers_are_told_than_asked_for() -> None:
    assert missing(10**9, {0, 2}, most=4) == [1, 3, 4, 5]
