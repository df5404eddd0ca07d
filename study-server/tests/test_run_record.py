# SPDX-License-Identifier: GPL-2.0-or-later
"""Run records: rules beyond the schema. data/bad_uploads.jsonl has the bad ones; see test_contract."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import records
from happe_contract import schemas
from happe_contract.faults import BadDocumentError
from happe_contract.schemas import MOST_BYTES, Kind
from happe_study.runs.records.demand import Ladder
from happe_study.runs.records.lessons import learn
from happe_study.runs.records.probes import Probe, probes
from happe_study.runs.records.record import Lesson, RunRecord, run_record
from uploads import GOOD

Json = dict[str, Any]

VECTORS = sorted((Path(__file__).parents[2] / "profiles/vectors").glob("*.json"))


def accept(document: Json) -> RunRecord:
    """Check a document as if it was sent to its own address."""
    read = schemas.read(Kind.RUN_RECORD, records.encode(document))
    return run_record(read, run=document["run"], client_id=document["id"])


def as_record(header: Json, lines: list[Json], decisions: list[Json]) -> Json:
    """The record of a run with this trace and with another program's decisions."""
    who = next(((line["user"], line["app"]) for line in lines if None not in (line["user"], line["app"])), None)
    known = {(uafp["user"], uafp["app"]): uafp["khz"] for uafp in header.get("uafp", [])}
    before = known.get(who) if who else None
    levels = before or new_uafp(header)
    learned, probes, decided = [], list[Json](), dict[int, int]()
    for line, decision in zip(lines, decisions, strict=True):
        if lesson := decision.get("learned"):
            learned.append(as_lesson(line, lesson, levels, header, decided))
            levels = lesson["uafp_khz"]
        if event := decision.get("probe"):
            probes.append({"t_us": line["t_us"], "event": event, "sham": decision.get("sham", False)})
        decided |= {policy["id"]: policy["cur_khz"] for policy in line["policies"] if "cur_khz" in policy}
        decided |= {target["policy"]: target["khz"] for target in decision.get("targets", [])}
    span = {"started_us": 0, "ended_us": lines[-1]["t_us"] + 1, "header": header, "observations": lines}
    after = levels if learned else before
    taught = {"profile_before": before, "profile_after": after, "learned": learned}
    return records.make() | span | taught | ({"probes": probes} if probes else {})


def new_uafp(header: Json) -> list[int]:
    """A new UAFP, computed without the tested code."""
    ladders = list(header["ladders_khz"].values())
    top = max(map(max, ladders))
    if header.get("settings", {}).get("middle_start"):
        (fastest,) = (ladder for ladder in ladders if ladder[-1] == top)
        return [min(khz for khz in fastest if khz >= top // 2)] * 10
    return [min(ladder[0] * top // ladder[-1] for ladder in ladders)] * 10


def as_lesson(line: Json, lesson: Json, levels: list[int], header: Json, decided: dict[int, int]) -> Json:
    """A decision's lesson as in a record. Its policy is the busiest one of the domain with the most work."""

    def khz(policy: Json) -> int:
        found: int = policy.get("cur_khz") or decided.get(policy["id"]) or header["ladders_khz"][str(policy["id"])][0]
        return found

    def normalised(policy: Json) -> float:
        ladder = header["ladders_khz"][str(policy["id"])]
        speeds = dict(zip(ladder, header.get("calibrated_khz", {}).get(str(policy["id"]), ladder), strict=True))
        speed: int = speeds.get(khz(policy), khz(policy))
        return float(max(policy["util_ppm"]) * speed / speeds[ladder[-1]])

    listed = sorted(line["policies"], key=lambda each: each["id"])
    together = sorted(map(sorted, header.get("domains", [[each["id"]] for each in listed])))
    domain = max(together, key=lambda ids: sum(normalised(each) for each in listed if each["id"] in ids))
    policy = max((each for each in listed if each["id"] in domain), key=normalised)
    keys = [press["key"] for press in line.get("keys", [])]
    return ({} if keys else {"probe": True}) | {
        "t_us": line["t_us"],
        "key": "performance" if "performance" in keys else "power",
        "policy": policy["id"],
        "level": lesson["level"],
        "from_khz": levels[lesson["level"]],
        "to_khz": lesson["khz"],
        "cur_khz": khz(policy),
        "util_ppm": max(policy["util_ppm"]),
    }


def one_profile(vector: Json) -> bool:
    """Whether a vector could be a run: it has one user and one application."""
    served = {(line["user"], line["app"]) for line in vector["observations"] if None not in (line["user"], line["app"])}
    named = {(line["user"], line["app"]) for line in vector["observations"]} - {(None, None)}
    return len(served) <= 1 and named == served


LOADED = [json.loads(path.read_text(encoding="utf-8")) for path in VECTORS]
RUNS = [vector for vector in LOADED if one_profile(vector)]


def test_most_vectors_could_be_runs() -> None:
    assert len(RUNS) > len(LOADED) * 2 // 3


def test_a_vector_derived_by_hand_makes_a_record_that_passes(subtests: pytest.Subtests) -> None:
    for vector in RUNS:
        with subtests.test(vector["name"]):
            record = as_record(vector["header"], vector["observations"], vector["expected"])

            taken = accept(record)

            assert [lesson.level for lesson in taken.learned] == [
                decision["learned"]["level"] for decision in vector["expected"] if "learned" in decision
            ]


def with_probes() -> Json:
    """The record of a vector with an accepted sham probe and a refused real one."""
    (vector,) = (each for each in LOADED if each["name"] == "descent-sham-probe-teaches-nothing")
    return as_record(vector["header"], vector["observations"], vector["expected"])


@pytest.mark.parametrize(
    ("at", "change", "says"),
    [
        (0, {"sham": False}, "/probes/0/sham: is not what probe_seed draws"),
        (2, {"sham": True}, "/probes/2/sham: is not what probe_seed draws"),
        (1, {"t_us": 21_000_000}, "/probes/1/t_us: is not the t_us of an observation that serves somebody"),
        (2, {"t_us": 80_000_000}, "/probes/2/t_us: must be later than the event before"),
        (2, {"event": "ended"}, "/probes/2/event: needs a probe that runs"),
        (0, {"event": "accepted"}, "/probes/0/event: needs a probe that runs"),
    ],
)
def test_probes_that_do_not_follow_are_refused(at: int, change: Json, says: str) -> None:
    record = with_probes()
    record["probes"][at] |= change

    with pytest.raises(BadDocumentError) as refused:
        accept(record)

    assert says in str(refused.value)


def test_an_accepted_probe_and_its_lesson_belong_together() -> None:
    (vector,) = (each for each in LOADED if each["name"] == "descent-probe-is-accepted")
    record = as_record(vector["header"], vector["observations"], vector["expected"])
    assert accept(record).learned[0].probe
    del record["probes"][1]

    with pytest.raises(BadDocumentError, match="disagree about the accepted probe"):
        accept(record)


def test_the_probes_of_a_record_have_their_outcomes() -> None:
    assert list(probes(with_probes())) == [
        Probe(20_000_000, sham=True, outcome="accepted", served_us=210_000_000),
        Probe(200_000_000, sham=False, outcome="refused", served_us=210_000_000),
    ]


@given(seconds=st.integers(0, 40), seed=st.integers(0, 10**9), kernel=st.booleans())
@settings(deadline=None)
def test_a_made_record_passes(seconds: int, seed: int, *, kernel: bool) -> None:
    taken = accept(records.make("7ZK3M9QA", seconds, seed, kernel=kernel))

    assert taken.samples == seconds
    assert not (kernel and (taken.learned or taken.served))


def test_a_made_record_follows_from_its_seed() -> None:
    assert records.make(seed=3) == records.make(seed=3)
    assert records.make(seed=3) != records.make(seed=4)


def test_what_a_record_holds_is_taken_out_of_it() -> None:
    taken = accept(GOOD[Kind.RUN_RECORD])

    assert taken.run == "7ZK3M9QA"
    assert taken.served == ("subject:4HT2XC0N", "torcs")
    assert taken.profile_before == (800000,) * 10
    assert taken.profile_after == (800000,) * 3 + (1200000,) * 7
    assert taken.learned[0] == Lesson(2000000, "performance", 0, 3, 800000, 1200000, 800000, 970000)
    assert (taken.rating, taken.backend, taken.indicator) == (4, "setspeed", False)


def test_a_record_without_rating_notes_and_interruptions_passes() -> None:
    record = {k: v for k, v in GOOD[Kind.RUN_RECORD].items() if k not in ("rating", "notes", "interruptions")}
    assert accept(record).rating is None


def test_a_run_that_ended_before_its_first_sample_passes() -> None:
    assert accept(records.make(seconds=0)).samples == 0


def test_four_hours_of_samples_pass_and_are_within_the_limit() -> None:
    record = records.make(seconds=14400)
    assert len(records.encode(record)) < MOST_BYTES[Kind.RUN_RECORD]
    assert accept(record).samples == 14400


def test_an_untaught_profile_may_be_told_as_new_when_nothing_was_learned() -> None:
    record = records.make(seconds=5, kernel=True) | {"profile_after": [800000] * 10}
    assert accept(record).profile_after == (800000,) * 10


def test_with_a_warm_start_the_profile_before_the_first_lesson_is_not_known_and_not_checked() -> None:
    record = json.loads(json.dumps(GOOD[Kind.RUN_RECORD]))
    record["header"] |= {"mode": "extended", "settings": {"warm_start": True}, "uafp": []}
    record |= {"profile_before": None, "profile_after": [900000] * 3 + [1200000] * 7}
    record["learned"][0]["from_khz"] = 900000
    assert len(accept(record).learned) == 2


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
