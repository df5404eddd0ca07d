# SPDX-License-Identifier: GPL-2.0-or-later
"""Run records: rules beyond the schema. data/bad_uploads.jsonl has the bad ones; see test_contract."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import records
from happe_contract import schemas
from happe_contract.schemas import MOST_BYTES, Kind
from happe_study.study.records.lessons import Ladder, learn
from happe_study.study.records.record import Lesson, RunRecord, run_record
from uploads import GOOD

Json = dict[str, Any]


def accept(document: Json) -> RunRecord:
    """Check a document as if it was sent to its own address."""
    read = schemas.read(Kind.RUN_RECORD, records.encode(document))
    return run_record(read, run=document["run"], client_id=document["id"])


@given(seconds=st.integers(0, 40), seed=st.integers(0, 10**9), kernel=st.booleans())
@settings(deadline=None)
def test_a_made_record_passes(seconds: int, seed: int, *, kernel: bool) -> None:
    taken = accept(records.make("7ZK3M9QA", seconds, seed, kernel=kernel))
    assert not (kernel and (taken.learned or taken.served))


def test_what_a_record_holds_is_taken_out_of_it() -> None:
    taken = accept(GOOD[Kind.RUN_RECORD])

    assert taken.run == "7ZK3M9QA"
    assert taken.served == ("subject:4HT2XC0N", "torcs")
    assert taken.profile_before == (800000,) * 10
    assert taken.profile_after == (800000,) * 3 + (1200000,) * 7
    assert taken.learned[0] == Lesson(2000000, "performance", 0, 3, 800000, 1200000, 800000, 970000)


def test_a_record_without_rating_notes_and_interruptions_passes() -> None:
    record = {k: v for k, v in GOOD[Kind.RUN_RECORD].items() if k not in ("rating", "notes", "interruptions")}
    assert accept(record).run == "7ZK3M9QA"


def test_a_run_that_ended_before_its_first_sample_passes() -> None:
    assert accept(records.make(seconds=0)).learned == ()


def test_four_hours_of_samples_pass_and_are_within_the_limit() -> None:
    record = records.make(seconds=14400)
    assert len(records.encode(record)) < MOST_BYTES[Kind.RUN_RECORD]
    assert accept(record).run == record["run"]


def test_an_untaught_profile_may_be_told_as_new_when_nothing_was_learned() -> None:
    record = records.make(seconds=5, kernel=True) | {"profile_after": [800000] * 10}
    assert accept(record).profile_after == (800000,) * 10


@pytest.mark.parametrize(
    ("util_ppm", "cur_khz", "level"),
    [
        (970000, 800000, 3),  # 970,000 * 800,000 * 10 / (1,000,000 * 2,300,000) = 3.37
        (287500, 800000, 1),  # exactly 1
        (287499, 800000, 0),  # 0.999996
        (1000000, 2201000, 9),  # the top's real speed is its own: 10 becomes level 9
        (1000000, 2200000, 9),  # 9.56; a frequency outside of the ladder is its own speed
        (0, 2201000, 0),
    ],
)
def test_a_level_is_the_tenth_that_docs_traces_says(util_ppm: int, cur_khz: int, level: int) -> None:
    ladder = Ladder((800000, 1200000, 2201000), {800000: 800000, 1200000: 1200000, 2201000: 2300000})
    assert ladder.level(util_ppm, cur_khz) == level


def test_every_calibrated_entry_counts_with_its_real_speed() -> None:
    ladder = Ladder((800000, 2000000), {800000: 1000000, 2000000: 2000000})
    assert ladder.level(1_000_000, 800000) == 5


def test_two_presses_of_a_key_may_have_one_time() -> None:
    record = json.loads(json.dumps(GOOD[Kind.RUN_RECORD]))
    record["observations"][1]["keys"][1]["t_us"] = record["observations"][1]["keys"][0]["t_us"]
    assert accept(record)


def test_under_a_kernel_condition_the_profile_known_from_before_stays() -> None:
    known = [800000] * 5 + [1200000] * 5
    record = records.make(seconds=5, kernel=True) | {"profile_before": known, "profile_after": known}
    assert accept(record).profile_before == tuple(known)


@given(st.lists(st.integers(1, 10**6), min_size=10, max_size=10), st.integers(0, 9), st.integers(1, 10**6))
def test_what_is_learned_is_set_and_the_rest_gives_way_to_it(values: list[int], level: int, khz: int) -> None:
    levels = learn(sorted(values), level, khz)

    assert levels[level] == khz
    assert levels == sorted(levels)
    assert all(new in (old, khz) for old, new in zip(sorted(values), levels, strict=True))
