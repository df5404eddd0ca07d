# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports: the dictionary has every column, nobody gets blinded data, and many rows take little memory."""

import csv
import hashlib
import io
import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from sqlalchemy import delete, select, update

import given_devices
import given_participants
import given_studies
import records
from happe_study.base.tables import Column, Format, Kind, encoded
from happe_study.model.audit.models import AuditEntry
from happe_study.model.devices import ClockEstimate, Device
from happe_study.model.participants import Participant
from happe_study.model.rights import RIGHTS, Right, Role
from happe_study.model.runs import Exclusion, Run, RunRecord
from happe_study.model.studies import Study
from happe_study.model.traces import Trace, TracePart
from happe_study.results.exports import services
from happe_study.results.exports.tables import Table
from happe_study.study.records.stored import sealed
from test_erasure import played, trace
from world import World, fixed_secrets

BLINDED_TABLES = {"records", "samples", "keys", "profiles", "learning_events"}
BLINDED_COLUMNS = {
    "runs": {"phase", "condition"},
    "study": {"protocol"},
    "ratings": {"condition", "guess", "guessed_us", "guess_correct"},
    "traces": {"bytes", "clock", "rate_hz", "source", "calibration", "started_us", "ended_us", "samples"},
}
EXPORTERS = [role for role in Role if Right.EXPORT in RIGHTS[role]]
WORDS = ("condition", "power", "khz", "util", "guess", "key")


def fetch(world: World, table: str, form: str = "csv", role: Role = Role.ANALYST) -> bytes:
    answer = world.staff(role).post(f"/api/v1/studies/small/exports/{table}?format={form}")
    assert answer.status_code == 200
    assert answer.headers["Content-Disposition"] == f'attachment; filename="small-{table}.{form}"'
    content: bytes = answer.data
    return content


def as_csv(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def as_json(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.decode().splitlines()]


def as_parquet(content: bytes) -> list[dict[str, Any]]:
    return pq.read_table(io.BytesIO(content)).to_pylist()  # type: ignore[no-any-return]


@pytest.fixture
def study(world: World) -> Study:
    """A study of two participants, each with a completed run and its record, and a power trace."""
    made = given_studies.study(world, protocol=given_studies.small())
    people = [played(world, made), played(world, made)]
    trace(world, made, people[0].laptop, 10**15, 10**15 + 5)
    return made


@pytest.mark.usefixtures("study")
@pytest.mark.parametrize("role", EXPORTERS)
def test_before_unblinding_nobody_gets_what_is_blinded(world: World, role: Role) -> None:
    program = world.staff(role)
    for table in BLINDED_TABLES:
        answer = program.post(f"/api/v1/studies/small/exports/{table}")
        assert (answer.status_code, answer.get_json()["type"]) == (409, "urn:happe:problem:blinded")
    for table in ("participants", "runs", "ratings", "clocks", "traces"):
        columns = set(as_csv(fetch(world, table, role=role))[0])
        assert not columns & BLINDED_COLUMNS.get(table, set())
    with world.database.reading() as session:
        found = session.scalars(select(Study)).one()
        everything = services.tables(found)
    for each in everything.values():
        for column in each.seen("locked", RIGHTS[role]):
            assert each.name == "dictionary" or not any(word in column.name for word in WORDS), column.name


@pytest.mark.parametrize("state", ["draft", "locked", "unblinded"])
@pytest.mark.parametrize("role", Role)
def test_columns_are_given_by_table_state_and_right_alone(state: str, role: Role) -> None:
    made = Study(protocol=given_studies.small(), protocol_sha256="small")
    for name, table in services.tables(made).items():
        seen = {column.name for column in table.seen(state, RIGHTS[role])}
        every = {column.name for column in table.columns}
        if role not in EXPORTERS or (state != "unblinded" and name in BLINDED_TABLES):
            assert seen == set()
        elif state != "unblinded":
            assert seen == every - BLINDED_COLUMNS.get(name, set())
        else:
            assert seen == every


PROTOCOL, HZ, LEVELS = given_studies.small(), 1500.5, range(10)
PLACE = {"run": "R0000001", "participant": "P0000001", "application": "quake3", "condition": "T-HAPPE"}
RECORD: dict[str, Any] = {
    "id": "a record", "clock": "monotonic:laptop", "started_us": 401, "ended_us": 402, "indicator": True,
    "observations": [
        {"t_us": 410, "user": "somebody", "app": "an app", "source": "battery", "keys": [{"t_us": 411, "key": "power"}],
         "policies": [{"id": 412, "cur_khz": 413, "util_ppm": [414, 415]}]},
    ],
    "interruptions": [{}, {}],
    "machine": {
        "backend": "cap", "governor": "userspace", "driver": "acpi", "cpu": "T7700", "epp": "power", "kernel": "6.1",
    },
    "profile_before": [*range(420, 430)], "profile_after": [*range(430, 440)],
    "learned": [
        {"t_us": 441, "key": "performance", "policy": 442, "level": 443, "from_khz": 444, "to_khz": 445, "cur_khz": 446,
         "util_ppm": 447},
        {"probe": True},
    ],
}  # fmt: skip
# Every table, with all columns in their order, as `distinct` fills the database.
EXPORTED: dict[str, list[dict[str, Any]]] = {
    "participants": [
        {"participant": "P0000001", "state": "done", "stratum": "a stratum", "consent_version": "a version",
         "on_withdrawal": "deidentify", "created_us": 101, "consent_us": 102, "enrolled_us": 103, "handout_us": 104,
         "done_us": 105, "ended_us": 106, "answer_computer_experience": "much", "answer_game_experience": "little",
         "answer_field_of_study": "physics"},
    ],
    "runs": [
        {"run": "R0000001", "participant": "P0000001", "position": 201, "attempt": 202, "application": "quake3",
         "phase": "training", "condition": "T-HAPPE", "seconds": 203, "state": "aborted", "laptop": "L0000001",
         "started_us": 204, "ended_us": 205, "record_us": 206, "completed_us": 207, "aborted_us": 208,
         "abort_reason": "a reason"},
    ],
    "exclusions": [
        {"participant": "P0000001", "run": "R0000001", "reason": "disturbed", "note": "a note", "blind": True,
         "at_us": 211},
    ],
    "ratings": [
        {**PLACE, "rating": 4, "rated_us": 209, "guess": "learning", "guessed_us": 210, "guess_correct": True},
    ],
    "records": [
        {"run": "R0000001", "record": "a record", "clock": "monotonic:laptop", "started_us": 401, "ended_us": 402,
         "indicator": True, "samples": 1, "interruptions": 2, "backend": "cap", "governor": "userspace",
         "driver": "acpi", "cpu": "T7700", "epp": "power", "kernel": "6.1"},
    ],
    "samples": [
        {"run": "R0000001", "t_us": 410, "policy": 412, "cpu": cpu, "cur_khz": 413, "util_ppm": 414 + cpu,
         "served": True, "app": "an app", "source": "battery"}
        for cpu in (0, 1)
    ],
    "keys": [{"run": "R0000001", "t_us": 411, "key": "power"}],
    "profiles": [
        {**PLACE, "moment": moment} | {f"khz_{level}": first + level for level in LEVELS}
        for moment, first in (("after", 430), ("before", 420))
    ],
    "learning_events": [{**PLACE, **RECORD["learned"][0]}],
    "clocks": [
        {"device": "L0000001", "clock": "realtime", "device_us": 301, "server_us": 302, "offset_us": 303,
         "uncertainty_us": 304, "probes": 305},
    ],
    "traces": [
        {"trace": "00000000-0000-4000-8000-000000000001", "meter": "M0000001", "laptop": "L0000001", "created_us": 501,
         "sealed_us": 502, "parts": 2, "bytes": 507, "clock": "monotonic:meter", "rate_hz": HZ, "source": "a source",
         "calibration": "a calibration", "started_us": 503, "ended_us": 504, "samples": 505},
    ],
    "study": [
        {"study": "small", "title": "a title", "state": "unblinded", "locked_us": 601, "unblinded_us": 602,
         "unfinished": "3 of 4 places are free. 1 participant is not done: 1 enrolled. "
                       "10 of 10 runs are not complete: 10 planned.",
         "override": "A test is short.",
         "protocol_sha256": hashlib.sha256(PROTOCOL.encode()).hexdigest(), "protocol": PROTOCOL},
    ],
}  # fmt: skip


def distinct(world: World) -> None:
    """An unblinded study with a row or two in each table, and another value in each column."""
    study = given_studies.study(world, protocol=PROTOCOL)
    people, runs = EXPORTED["participants"][0], EXPORTED["runs"][0] | EXPORTED["ratings"][0]
    given_participants.participant(world, study)
    laptop, meter = (given_devices.device(world, study, kind).device.id for kind in ("laptop", "meter"))
    given_studies.unblind(world)
    answers = {name.removeprefix("answer_"): value for name, value in people.items() if name.startswith("answer_")}
    header = {
        "clock": "monotonic:meter", "rate_hz": HZ, "started": {"monotonic_us": 503},
        "source": {"kind": "a source"}, "calibration": {"name": "a calibration"},
    }  # fmt: skip
    manifest = {"ended": {"monotonic_us": 504}, "samples": 505}
    with world.database.writing() as session:
        session.execute(update(Study).values(title="a title", locked_us=601, unblinded_us=602))
        for device, code in ((laptop, "L0000001"), (meter, "M0000001")):
            session.execute(update(Device).where(Device.id == device).values(code=code))
        values = {name: value for name, value in people.items() if hasattr(Participant, name)}
        session.execute(update(Participant).values(values | {"code": "P0000001", "answers": answers}))
        session.execute(delete(Run).where(Run.position > 1))
        values = {name: value for name, value in runs.items() if hasattr(Run, name)}
        session.execute(update(Run).values(values | {"code": "R0000001", "device_id": laptop}))
        run = session.scalars(select(Run.id)).one()
        document = sealed(fixed_secrets().allocation, "R0000001", records.encode(RECORD), 4096)
        trace = Trace(
            study_id=study.id, device_id=meter, laptop_id=laptop, client_id=EXPORTED["traces"][0]["trace"],
            header=header, header_sha256="", key_sealed=b"", created_us=501, sealed_us=502, manifest=manifest, parts=3,
        )  # fmt: skip
        session.add(trace)
        session.flush()
        parts = ({"number": number, "bytes": 253 + number} for number in (0, 1))
        session.add_all(TracePart(trace_id=trace.id, **part, sha256="", digest="", received_us=0) for part in parts)
        client = {"client_id": str(uuid4())}
        session.add(RunRecord(run_id=run, **client, digest="", document=document, received_us=0, taken_out=True))
        out = {name: EXPORTED["exclusions"][0][name] for name in ("reason", "note", "blind", "at_us")}
        who = session.scalars(select(Participant.id)).one()
        session.add(Exclusion(study_id=study.id, participant_id=who, run_id=run, **out))
        clock = {name: value for name, value in EXPORTED["clocks"][0].items() if name != "device"}
        session.add(ClockEstimate(device_id=laptop, **client, **clock))


def test_each_column_of_each_table_has_its_own_value_in_each_format(world: World) -> None:
    distinct(world)
    dictionary = as_csv(fetch(world, "dictionary"))
    assert all(row["about"] and row["type"] in set(Kind) for row in dictionary)
    described = {name: [row["column"] for row in dictionary if row["table"] == name] for name in EXPORTED}
    assert described == {name: list(rows[0]) for name, rows in EXPORTED.items()}
    assert {row["table"] for row in dictionary} == {*EXPORTED, "dictionary"}
    for name, rows in EXPORTED.items():
        texts = [{column: "true" if value is True else str(value) for column, value in row.items()} for row in rows]
        assert as_csv(fetch(world, name)) == texts
        assert as_json(fetch(world, name, "jsonl")) == as_parquet(fetch(world, name, "parquet")) == rows


@pytest.mark.usefixtures("study")
def test_a_guess_is_right_if_the_condition_is_one_of_those_it_stands_for(world: World) -> None:
    given_studies.unblind(world)
    with world.database.writing() as session:
        session.execute(update(Run).values(rating=3, condition="O-HAPPE", guess="learning"))
        few = select(Run.id).where(Run.position <= 4)
        session.execute(update(Run).where(Run.id.in_(few)).values(condition="ondemand"))
        session.execute(update(Run).where(Run.position == 5).values(guess="dont-know"))
        session.execute(update(Run).where(Run.position == 6).values(guess=None))
    positions = {row["run"]: row["position"] for row in as_json(fetch(world, "runs", "jsonl"))}
    correct = {positions[row["run"]]: row["guess_correct"] for row in as_json(fetch(world, "ratings", "jsonl"))}
    assert [correct[position] for position in range(1, 9)] == [False, False, False, False, None, None, True, True]


@pytest.mark.parametrize("value", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
def test_a_spreadsheet_takes_no_text_for_a_formula(value: str) -> None:
    column = (Column("a", Kind.TEXT, "x"),)
    files = {form: b"".join(encoded(form, column, [(value,)])) for form in Format}
    assert as_csv(files[Format.CSV]) == [{"a": f"'{value}"}]
    assert as_json(files[Format.JSON_LINES]) == as_parquet(files[Format.PARQUET]) == [{"a": value}]


def test_cells_are_quoted_and_numbers_stay_numbers() -> None:
    columns = [
        Column("a", Kind.TEXT, "x"),
        Column("b", Kind.INTEGER, "x"),
        Column("c", Kind.BOOLEAN, "x"),
        Column("d", Kind.NUMBER, "x"),
    ]
    rows = [('a "b", c\nd', -5, True, 0.5), (None, None, False, None)]
    assert b"".join(encoded(Format.CSV, columns, rows)) == (b'a,b,c,d\r\n"a ""b"", c\nd",-5,true,0.5\r\n,,false,\r\n')


def test_an_export_is_on_the_record(world: World) -> None:
    given_studies.study(world, protocol=given_studies.small())
    fetch(world, "runs")
    with world.database.reading() as session:
        assert session.scalars(select(AuditEntry.action).order_by(AuditEntry.number.desc())).first() == "study.exported"


def test_the_catalogue_says_what_one_gets_now(world: World) -> None:
    made = given_studies.study(world, protocol=given_studies.small())
    found = world.staff(Role.ANALYST, study_id=made.id).get("/api/v1/studies/small/exports").get_json()["tables"]
    assert {table["table"] for table in found if not table["available"]} == BLINDED_TABLES
    hidden = {table["table"]: {c["name"] for c in table["columns"] if not c["available"]} for table in found}
    assert {
        name: columns for name, columns in hidden.items() if columns and name not in BLINDED_TABLES
    } == BLINDED_COLUMNS


def test_rows_of_a_table_are_asked_for_as_they_are_needed() -> None:
    taken = []

    def rows() -> Iterator[tuple[int]]:
        for number in range(100_000):
            taken.append(number)
            yield (number,)

    table = Table("t", "x", (Column("n", Kind.INTEGER, "x"),), lambda *_: iter(()))
    for form, most in ((Format.CSV, 1000), (Format.JSON_LINES, 1000), (Format.PARQUET, 20_000)):
        taken.clear()
        next(encoded(form, table.columns, rows()))
        assert len(taken) == most
