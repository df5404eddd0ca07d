# SPDX-License-Identifier: GPL-2.0-or-later
"""Creating a study, replacing it while it is a draft, and locking it for good."""

import hashlib
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

import given_studies
from happe_study.base.problems import Problem
from happe_study.model.rights import Role
from happe_study.model.rules import Caller, Who
from happe_study.model.studies import Slot, Study
from happe_study.results.overview import status
from happe_study.study.allocation import plan, verify
from happe_study.study.protocol.reading import MOST_BYTES
from happe_study.study.sealing import open_seed, open_slot
from happe_study.study.studies import services
from operated import happe_server
from world import World, fixed_secrets

KEY = fixed_secrets().allocation
TOML = "application/toml"


def investigator(study_id: int | None) -> Caller:
    return Caller(Who.STAFF, 1, "i@example.org", roles=frozenset({(Role.INVESTIGATOR, study_id)}))


def test_a_locked_study_has_the_sealed_slots_of_its_committed_seed(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small(participants=8))
    assert study.state == "locked"
    assert study.seed_sealed is not None
    assert study.commitment is not None
    seed, salt = open_seed(KEY, study.name, study.seed_sealed)
    assert verify(study.commitment, seed, salt)
    with world.database.reading() as session:
        slots = session.scalars(select(Slot).order_by(Slot.position)).all()
        opened = [open_slot(KEY, (study.name, slot.stratum, slot.position), slot.plan_sealed) for slot in slots]
        assert opened == plan(services.protocol_of(study), seed, salt)[""]
        assert len({len(slot.plan_sealed) for slot in slots}) == 1
    assert world.actions() == ["study.created", "study.locked"]


def test_the_lock_notes_the_digest_of_the_preregistration(world: World, tmp_path: Path) -> None:
    text = given_studies.small(participants=8) + '\n[analysis]\nmargin = 0.3\nreason = "half a step in ten"\n'
    file = tmp_path / "small.toml"
    file.write_text(text)
    printed = happe_server("study", "preregister", file).out
    assert "- Margin: 0.3 points. Reason: half a step in ten\n" in printed
    digest = hashlib.sha256(printed.encode()).hexdigest()
    client = world.staff(Role.INVESTIGATOR)
    study = given_studies.study(world, protocol=text, locked=False)
    assert digest in client.get("/studies/small/lock").text
    with world.database.writing() as session:
        services.allocate(session, session.merge(study), fixed_secrets(), None)
    assert digest in client.get("/studies/small/protocol").text
    assert client.get("/studies/small/protocol/preregistration").text == printed
    assert [each["registration_sha256"] for each in world.details("study.locked")] == [digest]
    file.write_text(text.replace("0.3", "0.31"))
    assert happe_server("study", "preregister", file).out != printed


@pytest.mark.parametrize("name", ["paper-a3", "paper-a5", "crossover"])
def test_each_protocol_that_ships_can_be_locked(world: World, name: str) -> None:
    study = given_studies.study(world, name)
    protocol = services.protocol_of(study)
    assert world.count(Slot) == sum(protocol.quotas.values())
    with world.database.reading() as session:
        counts = status(session, study)
    assert counts["slots"] == [
        {"stratum": stratum, "slots": quota, "taken": 0} for stratum, quota in sorted(protocol.quotas.items())
    ]


def test_a_draft_takes_another_protocol_and_a_locked_study_does_not(world: World) -> None:
    given_studies.study(world, protocol=given_studies.small(participants=4), locked=False)
    study = given_studies.study(world, protocol=given_studies.small(participants=8))
    assert world.count(Study) == 1
    assert world.count(Slot) == 8
    with pytest.raises(Problem) as refused:
        given_studies.study(world, protocol=given_studies.small(participants=4), locked=False)
    assert (refused.value.status, refused.value.kind) == (409, "locked")
    with world.database.reading() as session:
        assert session.get_one(Study, study.id).protocol == given_studies.small(participants=8)


def test_a_study_is_locked_once(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    with pytest.raises(Problem) as refused, world.database.writing() as session:
        services.allocate(session, session.get_one(Study, study.id), fixed_secrets(), None)
    assert refused.value.kind == "locked"
    assert world.count(Slot) == 4
    with world.database.reading() as session:
        assert session.get_one(Study, study.id).commitment == study.commitment


def test_one_study_more_takes_the_right_in_every_study(world: World) -> None:
    mine = given_studies.study(world, protocol=given_studies.small("mine"), locked=False)
    given_studies.study(world, protocol=given_studies.small("other"), locked=False)
    with world.database.writing() as session:
        services.put(session, given_studies.small("mine", 8), investigator(mine.id))
        services.put(session, given_studies.small("new"), investigator(None))
    for name, kind in (("newer", "forbidden"), ("other", "name-taken")):
        with pytest.raises(Problem) as refused, world.database.writing() as session:
            services.put(session, given_studies.small(name), investigator(mine.id))
        assert refused.value.kind == kind


@pytest.fixture
def staff(world: World) -> FlaskClient:
    return world.staff(Role.INVESTIGATOR)


def test_a_study_is_created_replaced_and_locked_over_http(world: World, staff: FlaskClient) -> None:
    made = staff.post("/api/v1/studies", data=given_studies.small(), content_type=TOML)
    assert (made.status_code, made.get_json()["state"]) == (201, "draft")
    assert made.get_json()["protocol"] == given_studies.small()
    again = staff.post("/api/v1/studies", data=given_studies.small(participants=8), content_type="text/plain")
    assert again.status_code == 200
    assert staff.get("/api/v1/studies/small/commitment").status_code == 404
    refused = staff.post("/api/v1/studies/small/lock")
    assert (refused.status_code, [each["pointer"] for each in refused.get_json()["errors"]]) == (409, ["custodian"])
    given_studies.hold_roles(world, "small")
    locked = staff.post("/api/v1/studies/small/lock")
    assert (locked.status_code, locked.get_json()["state"]) == (200, "locked")
    assert staff.post("/api/v1/studies/small/lock").status_code == 409
    assert staff.get("/api/v1/studies/small").get_json() == locked.get_json()
    assert staff.get("/api/v1/studies").get_json() == {
        "studies": [{"name": "small", "title": "A small study", "state": "locked"}]
    }
    status = staff.get("/api/v1/studies/small/status").get_json()
    assert status["slots"] == [{"stratum": "", "slots": 8, "taken": 0}]
    assert set(status["participants"].values()) == set(status["runs"].values()) == {0}


def test_anybody_reads_the_commitment_of_a_locked_study_and_no_more(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    answer = world.client().get("/api/v1/studies/small/commitment")
    assert answer.status_code == 200
    assert (answer.get_json()["commitment"], answer.get_json()["seed"], answer.get_json()["salt"]) == (
        study.commitment,
        None,
        None,
    )
    assert world.client().get("/api/v1/studies/other/commitment").status_code == 404


def test_a_wrong_protocol_is_refused_with_its_lines(staff: FlaskClient) -> None:
    wrong = given_studies.small(participants=5).replace("seconds = 90", "seconds = 0")
    line = wrong.splitlines().index("seconds = 0") + 1
    answer = staff.post("/api/v1/studies", data=wrong, content_type=TOML)
    assert answer.status_code == 422
    assert answer.mimetype == "application/problem+json"
    assert answer.get_json()["errors"][0]["pointer"] == f"line {line}"
    assert answer.get_json()["errors"][0]["detail"].startswith("application[2].seconds: ")


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"", TOML, 422),
        (b"\xff\xfe", TOML, 422),
        (b"name = \x00", TOML, 422),
        (b"[" * 5000, TOML, 422),
        (b"name = '../../etc'", TOML, 422),
        (b"#" * (MOST_BYTES + 1), TOML, 413),
        (b"#" * (1 << 21), TOML, 413),
        (b"{}", "application/json", 415),
        (b"{}", "application/toml+x", 415),
    ],
)
def test_what_is_no_protocol_is_refused(staff: FlaskClient, body: bytes, content_type: str, status: int) -> None:
    answer = staff.post("/api/v1/studies", data=body, content_type=content_type)
    assert answer.status_code == status
    assert answer.mimetype == "application/problem+json"
