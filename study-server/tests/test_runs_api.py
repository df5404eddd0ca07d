# SPDX-License-Identifier: GPL-2.0-or-later
"""Over HTTP, laptops run runs, and staff look after runs and participants."""

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from flask.testing import FlaskClient
from nacl.public import SealedBox
from werkzeug.test import TestResponse

import given_participants as people
import records
from given_devices import Enrolled, put_record
from given_studies import small, study
from happe_study.model.participants import OnWithdrawal, Participant
from happe_study.model.rights import Role
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.results.withdrawal import services as withdrawal
from world import World, fixed_secrets

HERE = "/api/v1/studies/small/runs"


class Lab:
    """A participant at a laptop, and the laptop's program."""

    def __init__(self, world: World) -> None:
        """Enrol participant and laptop."""
        self.world = world
        self.study: Study = study(world, protocol=small())
        self.participant: Participant
        self.participant, self.link = people.participant(world, self.study)
        self.laptop: Enrolled = people.laptop_with(world, self.study, self.participant)
        self.program: FlaskClient = world.client(self.laptop.token)

    @property
    def code(self) -> str:
        """The first run's code."""
        return self.runs[0].code

    @property
    def runs(self) -> list[Run]:
        """The participant's runs as they are now."""
        return people.runs_of(self.world, self.participant)

    def start(self, code: str, start_id: str | None = None) -> TestResponse:
        """Start a run from the laptop."""
        return self.program.post(f"/api/v1/runs/{code}/start", json={"id": start_id or str(uuid4())})

    def put(self, what: str, **body: Any) -> TestResponse:  # noqa: ANN401 - JSON
        """Send something about the first run from the laptop."""
        return self.program.put(f"/api/v1/runs/{self.code}/{what}", json=body)

    def staff(self, role: Role) -> FlaskClient:
        """A member of the study's staff."""
        return self.world.staff(role, study_id=self.study.id)


@pytest.fixture
def lab(world: World) -> Lab:
    return Lab(world)


def test_a_laptop_goes_through_a_run(lab: Lab) -> None:
    # Given
    name = str(uuid4())

    # When
    first, second = lab.start(lab.code, name), lab.start(lab.code, name.upper())

    # Then
    assert first.status_code == 200
    assert first.get_json() == second.get_json()
    assert lab.laptop.key
    opened = SealedBox(lab.laptop.key).decrypt(base64.b64decode(first.get_json()["sealed"], validate=True))
    assert json.loads(opened)["run"] == lab.code
    assert lab.program.put(f"/api/v1/runs/{lab.code}/end").get_json() == {"code": lab.code, "state": "started"}
    assert lab.put("rating", id=str(uuid4()), rating=4).get_json()["state"] == "rated"
    assert lab.put("guess", id=str(uuid4()), guess="usual").get_json()["state"] == "rated"
    assert (lab.runs[0].rating, lab.runs[0].guess) == (4, "usual")


@pytest.mark.parametrize("rating", [0, 6, "4", 4.5, True, None, 10**30, -1])
def test_a_rating_must_be_a_point_of_the_scale(lab: Lab, rating: object) -> None:
    people.ended(lab.world, lab.code, lab.laptop)
    assert lab.put("rating", id=str(uuid4()), rating=rating).status_code == 422
    assert lab.runs[0].rating is None


def test_who_sits_beside_the_participants_sees_that_there_is_a_rating_but_not_which(lab: Lab) -> None:
    # Given
    people.completed(lab.world, lab.code, lab.laptop)

    # When
    seen = {role: lab.staff(role).get(f"{HERE}/{lab.code}").get_json() for role in (Role.EXPERIMENTER, Role.ANALYST)}

    # Then
    assert (seen[Role.EXPERIMENTER]["rating"], seen[Role.ANALYST]["rating"]) == (None, 5)
    for answer in seen.values():
        assert answer["rated_us"]
        assert (answer["guess"], answer["condition"]) == (None, None)
        assert answer["guessed_us"]


def test_a_guess_and_a_condition_are_shown_after_unblinding_alone(lab: Lab) -> None:
    # Given a stored condition of one run of a blinded study
    people.completed(lab.world, lab.code, lab.laptop)
    with lab.world.database.writing() as session:
        session.get_one(Run, lab.runs[0].id).condition = "O-HAPPE"
    analyst = lab.staff(Role.ANALYST)
    assert analyst.get(f"{HERE}/{lab.code}").get_json()["condition"] is None

    # When
    with lab.world.database.writing() as session:
        session.get_one(Study, lab.study.id).state = "unblinded"

    # Then
    seen = analyst.get(f"{HERE}/{lab.code}").get_json()
    assert (seen["guess"], seen["condition"]) == ("dont-know", "O-HAPPE")


def test_runs_are_listed_in_an_order_that_tells_nothing(lab: Lab) -> None:
    people.participant(lab.world, lab.study)
    client = lab.staff(Role.EXPERIMENTER)
    everybodys = [run["code"] for run in client.get(HERE, query_string={"limit": 200}).get_json()["runs"]]
    assert everybodys == sorted(everybodys)
    mine = client.get(HERE, query_string={"participant": lab.participant.code, "state": "planned"}).get_json()
    assert {run["code"] for run in mine["runs"]} == {run.code for run in lab.runs}
    assert mine["next"] is None


def test_an_experimenter_aborts_and_replaces_a_run(lab: Lab) -> None:
    # Given
    client = lab.staff(Role.EXPERIMENTER)
    lab.start(lab.code)

    # When
    aborted = client.post(f"{HERE}/{lab.code}/abort", json={"reason": "the power went out"})
    replaced = client.post(f"{HERE}/{lab.code}/replacement")

    # Then
    assert (aborted.get_json()["state"], aborted.get_json()["abort_reason"]) == ("aborted", "the power went out")
    assert replaced.status_code == 201
    assert (replaced.get_json()["position"], replaced.get_json()["attempt"], replaced.get_json()["state"]) == (
        1,
        2,
        "planned",
    )
    assert client.post(f"{HERE}/{lab.code}/replacement").get_json() == replaced.get_json()


def test_a_run_neither_ends_nor_is_rated_before_its_time_though_its_record_came(
    tmp_path: Path, sqlite_url: str
) -> None:
    # Given
    world = World(tmp_path, sqlite_url, least_share_of_run=0.9)
    lab = Lab(world)
    lab.start(lab.code)

    # When
    early = lab.program.put(f"/api/v1/runs/{lab.code}/end")
    assert put_record(lab.program, records.make(lab.code, 20)).status_code == 201
    rated = lab.put("rating", id=str(uuid4()), rating=4)
    browser = people.browser(world, lab.link)
    form = people.hidden(browser.get("/p/run").text)
    on_the_page = browser.post("/p/rating", data=form | {"rating": "4"})

    # Then
    for answer in (early, rated):
        assert (answer.status_code, answer.get_json()["type"]) == (409, "urn:happe:problem:too-early")
        assert "Abort it" in answer.get_json()["detail"]
    assert on_the_page.status_code == 409
    assert lab.runs[0].rating is None
    with world.database.writing() as session:
        run = session.get_one(Run, lab.runs[0].id)
        run.started_us = (run.started_us or 0) - run.seconds * 1_000_000
    assert lab.put("rating", id=str(uuid4()), rating=4).status_code == 200
    world.close()


def test_a_record_on_its_way_finds_no_run_once_its_participant_s_data_have_other_codes(lab: Lab) -> None:
    # Given
    code = lab.code
    people.answered(lab.world, code, lab.laptop)
    with lab.world.database.writing() as session:
        row = session.get_one(Participant, lab.participant.id)
        row.on_withdrawal = OnWithdrawal.DEIDENTIFY
        session.flush()
        withdrawal.withdraw(session, row, fixed_secrets(), None)

    # When
    late = put_record(lab.program, records.make(code, 20))

    # Then nothing links the old code to the new one, so the laptop keeps the record and tells a person
    assert (late.status_code, late.get_json()["type"]) == (404, "urn:happe:problem:not-found")
    assert lab.runs[0].code != code
    assert lab.runs[0].record_us is None


PEOPLE = "/api/v1/studies/small/participants"


@pytest.fixture
def made(world: World) -> Study:
    return study(world, protocol=small())


@pytest.fixture
def experimenter(world: World, made: Study) -> FlaskClient:
    return world.staff(Role.EXPERIMENTER, study_id=made.id)


def test_an_invitation_is_a_link_that_works(world: World, experimenter: FlaskClient) -> None:
    answer = experimenter.post(PEOPLE, json={"count": 3})
    assert answer.status_code == 201
    invited = answer.get_json()["participants"]
    assert len({one["code"] for one in invited}) == len({one["link"] for one in invited}) == 3
    page = world.client().get(urlsplit(invited[0]["link"]).path)
    assert invited[0]["code"] in page.text


def test_pages_of_a_list_have_each_participant_once_in_the_order_of_codes(experimenter: FlaskClient) -> None:
    # Given
    codes = [one["code"] for one in experimenter.post(PEOPLE, json={"count": 7}).get_json()["participants"]]

    # When
    seen: list[str] = []
    page = experimenter.get(f"{PEOPLE}?limit=3").get_json()
    seen += [one["code"] for one in page["participants"]]
    while page["next"]:
        page = experimenter.get(PEOPLE, query_string={"limit": 3, "cursor": page["next"]}).get_json()
        seen += [one["code"] for one in page["participants"]]

    # Then
    assert seen == sorted(codes)


def test_a_list_can_be_of_one_state(world: World, made: Study, experimenter: FlaskClient) -> None:
    enrolled, _ = people.participant(world, made)
    people.participant(world, made, enrolled=False)
    listed = experimenter.get(f"{PEOPLE}?state=enrolled").get_json()["participants"]
    assert [(one["code"], one["state"]) for one in listed] == [(enrolled.code, "enrolled")]
    assert experimenter.get(f"{PEOPLE}?state=happy").status_code == 422


def test_a_participants_page_counts_runs_and_holds_no_answer(
    world: World, made: Study, experimenter: FlaskClient
) -> None:
    # Given
    row, token = people.participant(world, made)
    laptop = people.laptop_with(world, made, row)
    people.completed(world, people.runs_of(world, row)[0].code, laptop)

    # When
    answer = experimenter.get(f"{PEOPLE}/{row.code}")

    # Then
    assert (answer.get_json()["runs"], answer.get_json()["complete"], answer.get_json()["state"]) == (10, 1, "enrolled")
    assert "history" not in answer.text
    assert token not in answer.text


def test_a_drop_out_is_replaced_for_a_reason(world: World, made: Study, experimenter: FlaskClient) -> None:
    row, _ = people.participant(world, made)
    where = f"{PEOPLE}/{row.code}/replacement"
    for reason in ("", "   ", "a\x00b", 7, None, "x" * 501):
        assert experimenter.post(where, json={"reason": reason}).status_code in (400, 422)
    for _ in range(2):
        assert experimenter.post(where, json={"reason": "ill"}).get_json()["state"] == "replaced"


def test_a_withdrawal_asks_for_the_code_once_more(world: World, made: Study, experimenter: FlaskClient) -> None:
    row, token = people.participant(world, made, choice="erase")
    where = f"{PEOPLE}/{row.code}/withdrawal"
    assert experimenter.post(where, json={"confirm": "yes"}).status_code == 422
    assert experimenter.post(where, json={"confirm": row.code}).status_code == 204
    assert people.now(world, row).state == "withdrawn"
    assert world.client().get(f"/p/{token}").status_code == 404


def test_nobody_is_told_the_new_code_of_data_that_are_kept(
    world: World, made: Study, experimenter: FlaskClient
) -> None:
    row, _ = people.participant(world, made, choice="deidentify")
    answer = experimenter.post(f"{PEOPLE}/{row.code}/withdrawal", json={"confirm": row.code})
    new = people.now(world, row).code
    assert new != row.code
    assert new not in answer.text + str(answer.headers)
    assert experimenter.get(f"{PEOPLE}/{row.code}").status_code == 404
