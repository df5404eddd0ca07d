# SPDX-License-Identifier: GPL-2.0-or-later
"""A study at home: a run is a day of every application, and has a record for each piece of the day."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from nacl.public import SealedBox
from sqlalchemy import update

import given_participants as people
import records
from enrolled import SECRETS
from given_devices import put_record, said
from given_studies import small, study, text
from given_uploads import take_out
from happe_contract.schemas import SCHEMAS
from happe_study.access.rights import Role
from happe_study.base.clock import now_us
from happe_study.people.participants.models import Participant
from happe_study.results.analysis.reading import read_export
from happe_study.results.withdrawal import services as withdrawal
from happe_study.runs.course.models import Run
from test_erasure import contents, everything
from test_exports import as_csv, fetch, unblind
from test_progress import to_look_after

if TYPE_CHECKING:
    from pathlib import Path

    from world import World

Json = dict[str, Any]

SCHEMA = jsonschema_rs.validator_for(json.loads((SCHEMAS / "sealed-condition.schema.json").read_text()))
DAY_US = 24 * 3600 * 1_000_000
TABLES = ("runs", "ratings", "participants", "records", "keys", "probes", "samples", "study")


class Home:
    """A participant at home, whose first day is over and answered. The study has fourteen days."""

    def __init__(self, world: World, protocol: str = "") -> None:
        self.world = world
        self.study = study(world, protocol=protocol or text("field").replace('name = "field"', 'name = "small"', 1))
        self.participant, self.token = people.participant(world, self.study, choice="deidentify")
        self.laptop = people.laptop_with(world, self.study, self.participant)
        self.client = world.client(self.laptop.token)
        self.days = [run.code for run in people.runs_of(world, self.participant)]
        self.sealed = people.answered(world, self.days[0], self.laptop)

    def piece(self, number: int, of: int = 3, seed: int = 1) -> Json:
        """A piece of the first day. Each has its own clock."""
        made = records.at_home(self.days[0], number, of, seed)
        mine: Json = json.loads(json.dumps(made).replace("4HT2XC0N", self.participant.code))
        return mine

    def state(self) -> str:
        """The first day's."""
        return people.runs_of(self.world, self.participant)[0].state


def series(piece: Json, key: str) -> int:
    """The presses of a key that come at least a second after the one before."""
    times = [press["t_us"] for line in piece["observations"] for press in line["keys"] if press["key"] == key]
    return sum(after - before >= 1_000_000 for before, after in pairwise([0, *times]))


def test_a_day_serves_every_application_under_both_conditions_of_each_pair(world: World) -> None:
    # Given
    home = Home(world)
    assert home.laptop.key
    opener = SealedBox(home.laptop.key)
    sealed = [home.sealed, *(people.answered(world, code, home.laptop) for code in home.days[1:])]
    # When
    told = [json.loads(opener.decrypt(each)) for each in sealed]
    # Then
    assert {len(each) for each in sealed} == {560}
    assert all(SCHEMA.is_valid(each) for each in told)
    assert {("application" in each, each["keys"], "raised" in each) for each in told} == {(False, "act", False)}
    assert {("probe_seed" in each) == (each["condition"] == "L-HAPPE") for each in told} == {True}
    pairs = [{each["condition"] for each in told[day : day + 2]} for day in range(0, 14, 2)]
    assert pairs == [{"O-HAPPE", "L-HAPPE"}] * 7


def test_the_records_of_a_day_are_kept_each_once(world: World) -> None:
    # Given
    home = Home(world)
    pieces = [home.piece(number) for number in (1, 2, 3)]
    # When
    first = [(put_record(home.client, piece).status_code, home.state()) for piece in pieces]
    again = [put_record(home.client, piece).status_code for piece in pieces]
    others = [put_record(home.client, piece) for piece in (home.piece(2, seed=2), home.piece(4, of=4))]
    # Then
    assert first == [(201, "rated"), (201, "rated"), (201, "complete")]
    assert again == [200] * 3
    assert [(other.status_code, said(other)["type"]) for other in others] == [(409, "urn:happe:problem:record")] * 2
    with world.database.reading() as session:
        assert sorted(json.loads(content)["piece"]["number"] for content in contents(session)) == [1, 2, 3]


def test_a_run_in_the_laboratory_has_one_piece(world: World) -> None:
    home = Home(world, small())

    answers = [put_record(home.client, home.piece(number)) for number in (1, 2)]

    assert [(each.status_code, said(each)["type"]) for each in answers] == [(409, "urn:happe:problem:record")] * 2


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"piece": {"number": 4, "of": 3}}, "/piece/number"),
        ({"profile_before": [800_000] * 10}, "/profile_before"),
        ({"every_application": False}, "/observations/40/app"),
    ],
)
def test_a_piece_that_contradicts_itself_is_refused(world: World, change: Json, pointer: str) -> None:
    home = Home(world)

    answer = put_record(home.client, home.piece(1) | change)

    assert answer.status_code == 422
    assert said(answer)["errors"][0]["pointer"] == pointer


def test_an_export_tells_the_pieces_apart_and_the_analysis_joins_them(world: World, tmp_path: Path) -> None:
    # Given
    home = Home(world)
    pieces = [home.piece(1, of=2), home.piece(2, of=2)]
    for piece in pieces:
        put_record(home.client, piece)
    unblind(world)
    # When
    for table in TABLES:
        (tmp_path / f"small-{table}.csv").write_bytes(fetch(world, table))
    export = read_export(tmp_path)
    # Then
    kept = as_csv((tmp_path / "small-records.csv").read_bytes())
    assert [(row["piece"], row["pieces"], row["record"]) for row in kept] == [
        (str(number), "2", piece["id"]) for number, piece in enumerate(pieces, start=1)
    ]
    (run,) = export.runs.rows
    assert run.seconds == sum(piece["ended_us"] - piece["started_us"] for piece in pieces) / 1e6
    assert (run.performance, run.power) == tuple(
        sum(series(each, key) for each in pieces) for key in ("performance", "power")
    )
    assert not export.samples, "no picture shows them, and those of weeks would not fit into memory"


def test_each_piece_has_a_page_and_no_profile_has_its_lessons(world: World) -> None:
    # Given
    home = Home(world)
    for number in (1, 2):
        put_record(home.client, home.piece(number, of=2))
    unblind(world)
    take_out(world)
    analyst = world.staff(Role.ANALYST)
    at = f"/studies/small/runs/{home.days[0]}"
    # When
    first, second = (analyst.get(f"{at}{piece}") for piece in ("", "/pieces/2"))
    # Then
    assert f'href="{at}/pieces/2"' in first.text
    assert f'href="{at}"' in second.text
    assert 'id="figure"' in second.text
    assert analyst.get(f"{at}/pieces/3").status_code == 404
    assert as_csv(fetch(world, "learning_events")) == []


def test_who_withdraws_takes_the_code_out_of_every_piece(world: World) -> None:
    # Given
    home = Home(world)
    for number in (1, 2, 3):
        put_record(home.client, home.piece(number))
    # When
    with world.database.writing() as session:
        row = session.get_one(Participant, home.participant.id)
        withdrawal.withdraw(session, row, SECRETS, people.as_participant(home.participant))
    # Then
    left = everything(world)
    assert [each for each in (home.participant.code, *home.days) if each in left] == []
    with world.database.reading() as session:
        assert len(contents(session)) == 3


def test_a_weekend_without_the_laptop_is_not_late(small_world: World) -> None:
    home = Home(small_world)
    people.started(small_world, home.days[1], home.laptop)
    put_record(home.client, home.piece(1, of=1))
    looked_after = []
    for days in (2, 5):
        with small_world.database.writing() as session:
            began = now_us() - days * DAY_US
            session.execute(update(Run).where(Run.code == home.days[1]).values(started_us=began))
        looked_after.append(to_look_after(small_world, home.study))

    assert looked_after == [[], ["was started, but is not rated"]]


def test_a_participant_at_home_is_told_of_days(world: World) -> None:
    home = Home(world)
    browser = people.browser(world, home.token)

    waits = browser.get("/p/run").text
    people.started(world, home.days[1], home.laptop)
    goes_on = browser.get("/p/run").text

    assert "Day 2 of 14" in waits
    assert "1 of 14 days done" in waits
    assert "This day of the study has begun" in goes_on
