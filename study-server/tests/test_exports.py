# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports: the dictionary has every column, nobody gets blinded data, and many rows take little memory."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest
from sqlalchemy import select, update

import given_studies
from enrolled import enrol
from happe_study.base.tables import Column, Format, Kind, encoded
from happe_study.model.audit.models import AuditEntry
from happe_study.model.participants import Participant
from happe_study.model.rights import RIGHTS, Right, Role
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Study
from happe_study.results.exports import services
from happe_study.results.exports.tables import Table
from happe_study.study.records.stored import opened
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
def test_columns_are_given_by_table_state_and_right_alone(world: World, state: str, role: Role) -> None:
    made = given_studies.study(world, protocol=given_studies.small())
    for name, table in services.tables(made).items():
        seen = {column.name for column in table.seen(state, RIGHTS[role])}
        every = {column.name for column in table.columns}
        if role not in EXPORTERS or (state != "unblinded" and name in BLINDED_TABLES):
            assert seen == set()
        elif state != "unblinded":
            assert seen == every - BLINDED_COLUMNS.get(name, set())
        else:
            assert seen == every


def test_every_column_is_in_the_dictionary_and_every_format_has_the_columns(world: World, study: Study) -> None:
    given_studies.unblind(world)
    dictionary = as_csv(fetch(world, "dictionary"))
    for name in services.tables(study):
        described = [row["column"] for row in dictionary if row["table"] == name]
        rows = as_json(fetch(world, name, "jsonl"))
        parquet = pq.read_table(io.BytesIO(fetch(world, name, "parquet")))
        assert rows, name
        assert next(csv.reader(io.StringIO(fetch(world, name).decode()))) == described
        assert {tuple(row) for row in rows} <= {tuple(described)}
        assert parquet.column_names == described
        assert [{field: row[field] for field in described} for row in parquet.to_pylist()] == rows
    assert all(row["about"] and row["type"] in set(Kind) for row in dictionary)


@pytest.mark.usefixtures("study")
def test_after_unblinding_the_exports_say_what_is_in_the_database(world: World) -> None:
    given_studies.unblind(world)
    with world.database.reading() as session:
        conditions = dict(session.execute(select(Run.code, Run.condition)).all())
        stored = select(Run.code, RunRecord.document).join(RunRecord).order_by(RunRecord.id)
        code, document = session.execute(stored).first() or ("", b"")
        record = json.loads(opened(fixed_secrets().allocation, code, document))
    runs = as_json(fetch(world, "runs", "jsonl"))
    assert {row["run"]: row["condition"] for row in runs} == conditions
    assert [row["run"] for row in runs] == sorted(conditions)
    samples = [row for row in as_json(fetch(world, "samples", "jsonl")) if row["run"] == record["run"]]
    assert len(samples) == 30 * 2
    assert [row["t_us"] for row in samples[::2]] == [line["t_us"] for line in record["observations"]]
    keys = [row for row in as_json(fetch(world, "keys", "jsonl")) if row["run"] == record["run"]]
    assert [row["t_us"] for row in keys] == [press["t_us"] for line in record["observations"] for press in line["keys"]]
    profiles = as_json(fetch(world, "profiles", "jsonl"))
    [after] = [row for row in profiles if (row["run"], row["moment"]) == (record["run"], "after")]
    assert [after[f"khz_{level}"] for level in range(10)] == record["profile_after"]
    lessons = [row for row in as_json(fetch(world, "learning_events", "jsonl")) if row["run"] == record["run"]]
    place = {name: after[name] for name in ("run", "participant", "application", "condition")}
    assert lessons == [place | lesson for lesson in record["learned"]]
    assert lessons
    power = as_json(fetch(world, "traces", "jsonl"))
    assert [(row["parts"], row["bytes"], row["rate_hz"]) for row in power] == [(1, 12, 100000.0)]


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


def test_participants_have_a_column_for_each_answer(world: World) -> None:
    made = given_studies.study(world, protocol=given_studies.small())
    enrol(world, made.id)
    (row,) = as_json(fetch(world, "participants", "jsonl"))
    assert {name: value for name, value in row.items() if name.startswith("answer_")} == {
        "answer_computer_experience": None,
        "answer_game_experience": None,
        "answer_field_of_study": "physics",
    }


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"]


@pytest.mark.parametrize("value", FORMULAS)
def test_a_spreadsheet_takes_no_text_for_a_formula(world: World, value: str) -> None:
    made = given_studies.study(world, protocol=given_studies.small())
    enrol(world, made.id)
    with world.database.writing() as session:
        session.execute(update(Participant).values(answers={"field_of_study": value}))
    assert as_csv(fetch(world, "participants"))[0]["answer_field_of_study"] == f"'{value}"
    assert as_json(fetch(world, "participants", "jsonl"))[0]["answer_field_of_study"] == value
    parquet = pq.read_table(io.BytesIO(fetch(world, "participants", "parquet"))).to_pylist()
    assert parquet[0]["answer_field_of_study"] == value


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
