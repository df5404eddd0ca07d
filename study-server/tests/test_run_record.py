# SPDX-License-Identifier: GPL-2.0-or-later
"""Run records: rules beyond the schema. data/bad_uploads.jsonl has the bad ones; see test_contract."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import records
from happe_contract import schemas
from happe_contract.schemas import MOST_BYTES, Kind
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
    after = [800000] * 3 + [1200000] * 7
    assert (taken.profile_before, taken.profile_after) == ([800000] * 10, after)
    assert taken.learned[0] == Lesson(2000000, "performance", 0, 3, 800000, 1200000, 800000, 970000, after)


def test_a_record_without_rating_notes_and_interruptions_passes() -> None:
    record = {k: v for k, v in GOOD[Kind.RUN_RECORD].items() if k not in ("rating", "notes", "interruptions")}
    assert accept(record).run == "7ZK3M9QA"


def test_a_run_that_ended_before_its_first_sample_passes() -> None:
    assert accept(records.make(seconds=0)).learned == ()


def test_four_hours_of_samples_pass_and_are_within_the_limit() -> None:
    record = records.make(seconds=14400)
    assert len(records.encode(record)) < MOST_BYTES[Kind.RUN_RECORD]
    assert accept(record).run == record["run"]


def test_two_presses_of_a_key_may_have_one_time() -> None:
    record = json.loads(json.dumps(GOOD[Kind.RUN_RECORD]))
    record["observations"][1]["keys"][1]["t_us"] = record["observations"][1]["keys"][0]["t_us"]
    assert accept(record)
