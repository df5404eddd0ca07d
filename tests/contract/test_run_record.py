# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's record joins happed's trace and facts with the wizard's data, and the study server accepts it."""

import uuid

import pytest

import seals
from happe_contract import schemas
from happe_contract.schemas import Kind
from happe_study.study.records.record import run_record
from happed_world import Client
from seals import Json, begin, end, facts, pressed
from test_vectors import validator


def record(client: Client, run: str) -> Json:
    """The record to upload for a run that has ended."""
    header, *observations = end(client, run)
    return {
        "format": "happe-run/1",
        "run": seals.RUN,
        "id": str(uuid.uuid4()),
        "header": header,
        "observations": observations,
        "rating": 4,
        **facts(client, run),
    }


@pytest.mark.parametrize(
    ("condition", "changes"),
    [
        ("ondemand", {"up_threshold": 80}),
        ("T-HAPPE", {}),
        ("B-HAPPE", {}),
        ("L-HAPPE", {}),
        ("O-HAPPE", {"keys": "sham"}),
        ("fixed-2", {}),
    ],
)
def test_a_record_of_a_run_is_what_the_server_takes(experimenter: Client, condition: str, changes: Json) -> None:
    run = begin(experimenter, condition, **changes)
    pressed(experimenter, "performance")

    document = record(experimenter, run)

    validator("run-record.schema.json").validate(document)
    read = run_record(schemas.read(Kind.RUN_RECORD, seals.compact(document)), run=seals.RUN, client_id=document["id"])
    acts = condition.endswith("-HAPPE") and "keys" not in changes
    assert len(read.learned) == acts
    assert read.served == ((f"subject:{seals.SUBJECT}", seals.APPLICATION) if condition.endswith("-HAPPE") else None)
    assert (read.profile_before is not None, read.knew_profile) == (condition.endswith("-HAPPE"), False)
    # L-HAPPE begins with more than a step up from the frequency that it found.
    assert (read.profile_after != read.profile_before) == (acts and condition != "L-HAPPE")
    assert all("targets" in line for line in document["observations"])
    assert document["indicator"] is (condition == "B-HAPPE")


def test_a_second_run_begins_with_what_the_first_has_taught(experimenter: Client) -> None:
    first = begin(experimenter, "T-HAPPE")
    pressed(experimenter, "performance")
    taught = record(experimenter, first)
    second = begin(experimenter, "O-HAPPE")
    pressed(experimenter, "power")

    document = record(experimenter, second)

    assert document["profile_before"] == taught["profile_after"]
    read = run_record(schemas.read(Kind.RUN_RECORD, seals.compact(document)), run=seals.RUN, client_id=document["id"])
    assert [lesson.key for lesson in read.learned] == ["power"]


@pytest.mark.parametrize("condition", ["O-HAPPE", "L-HAPPE"])
def test_a_raised_run_begins_a_step_higher_and_teaches_no_later_run(experimenter: Client, condition: str) -> None:
    trained = begin(experimenter, "T-HAPPE")
    pressed(experimenter, "performance")
    taught = record(experimenter, trained)["profile_after"]
    first = begin(experimenter, condition, raised=True)
    pressed(experimenter, "power")
    learned = record(experimenter, first)
    second = begin(experimenter, condition, raised=True)
    pressed(experimenter, "power")

    document = record(experimenter, second)

    validator("run-record.schema.json").validate(learned)
    steps = document["header"]["ladders_khz"]["0"]
    assert learned["profile_before"] == [min(k for k in [*steps, steps[-1] + 1] if k > khz) for khz in taught]
    assert document["profile_before"] == learned["profile_before"] != learned["profile_after"]
    assert document["raised"] is True
    patience = [each["wait_us"] for each in document["header"].get("patience", [])]
    assert patience == ([130_000_000] if condition == "L-HAPPE" else [])
    run_record(schemas.read(Kind.RUN_RECORD, seals.compact(learned)), run=seals.RUN, client_id=learned["id"])


def test_a_run_shorter_than_a_period_has_a_record_too(experimenter: Client) -> None:
    document = record(experimenter, begin(experimenter, "B-HAPPE"))
    assert document["observations"] == []
    run_record(schemas.read(Kind.RUN_RECORD, seals.compact(document)), run=seals.RUN, client_id=document["id"])
