# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff name and revoke devices. Devices enrol once, send heartbeats and compare clocks."""

import base64
from dataclasses import asdict
from typing import Any
from uuid import uuid4

import pytest
from flask.testing import FlaskClient
from nacl.public import PrivateKey
from sqlalchemy import select, update
from werkzeug.test import TestResponse

from given_devices import Enrolled, device, said
from given_participants import participant, started
from given_studies import small, study
from happe_study.model.accounts import Token
from happe_study.model.devices import Device, Sitting
from happe_study.model.rights import Role
from happe_study.model.studies import Study
from happe_study.study.people.devices import plain
from happe_study.study.studies.services import protocol_of
from world import World

Json = dict[str, Any]

BOOT = "monotonic:0f8fad5b-d9cb-469f-a165-70867728950e"
HEARTBEAT: Json = {"state": "idle", "software": {"happed": "0.1.0"}, "free_gib": 12, "spool": 0}


def base(key: bytes) -> str:
    return base64.b64encode(key).decode()


def new_key() -> str:
    return base(bytes(PrivateKey.generate().public_key))


def named(client: FlaskClient, within: Study, name: str = "t61", kind: str = "laptop") -> Json:
    answer = client.post(f"/api/v1/studies/{within.name}/devices", json={"name": name, "kind": kind})
    assert answer.status_code == 201, said(answer)
    return said(answer)


def enrol(world: World, code: str, key: str | None = None) -> TestResponse:
    given = {"code": code} | ({"public_key": key} if key else {})
    return world.client().post("/api/v1/devices/enrol", json=given)


def test_a_device_enrols_with_its_code_once_and_the_server_keeps_neither_code_nor_token(world: World) -> None:
    # given
    within, staff = study(world, protocol=small()), world.staff(Role.ADMINISTRATOR)
    code = named(staff, within)["enrolment_code"]
    # when
    first, second = enrol(world, code.lower().replace("-", " "), new_key()), enrol(world, code, new_key())
    # then
    assert first.status_code == 201
    assert said(first)["study"] == within.name
    assert world.client(said(first)["token"]).get("/api/v1/clock").status_code == 200
    assert (second.status_code, said(second)["type"]) == (403, "urn:happe:problem:enrolment")
    with world.database.reading() as session:
        kept = [*session.scalars(select(Token.sha256)), *session.scalars(select(Device.enrol_sha256))]
    assert all(secret not in str(kept) for secret in (code, str(plain(code)), said(first)["token"]))


def test_an_enrolment_code_works_for_a_day(world: World) -> None:
    within, staff = study(world, protocol=small()), world.staff(Role.ADMINISTRATOR)
    code = named(staff, within)["enrolment_code"]
    with world.database.writing() as session:
        session.execute(update(Device).values(enrol_expires_us=Device.enrol_expires_us - 24 * 3600 * 1_000_000))
    assert enrol(world, code, new_key()).status_code == 403


@pytest.mark.parametrize("key", [None, "", "!!!!", "a" * 43, base(b"a" * 33), "ä" * 44, base(bytes(32))])
def test_a_laptop_without_a_usable_key_does_not_enrol_and_its_code_stays(world: World, key: str | None) -> None:
    # given
    within, staff = study(world, protocol=small()), world.staff(Role.ADMINISTRATOR)
    code = named(staff, within)["enrolment_code"]
    # when
    refused = world.client().post("/api/v1/devices/enrol", json={"code": code, "public_key": key})
    # then
    assert refused.status_code == 422
    assert said(refused)["errors"][0]["pointer"] == "/public_key"
    assert enrol(world, code, new_key()).status_code == 201


def test_a_meter_has_no_key(world: World) -> None:
    within, staff = study(world, protocol=small()), world.staff(Role.ADMINISTRATOR)
    code = named(staff, within, kind="meter")["enrolment_code"]
    assert enrol(world, code, new_key()).status_code == 422
    assert enrol(world, code).status_code == 201


@pytest.mark.parametrize("code", ["", "0" * 16, "x y", "\uff21" * 16, "A" * 65])
def test_who_guesses_a_code_is_told_nothing(world: World, code: str) -> None:
    study(world, protocol=small())
    assert enrol(world, code, new_key()).status_code in {403, 422}


def test_a_name_is_taken_once_in_a_study(world: World) -> None:
    within, staff = study(world, protocol=small()), world.staff(Role.ADMINISTRATOR)
    named(staff, within, "t61")
    again = staff.post(f"/api/v1/studies/{within.name}/devices", json={"name": "t61", "kind": "meter"})
    assert (again.status_code, said(again)["errors"][0]["pointer"]) == (409, "/name")


def test_revoking_ends_the_token_at_once_and_enrolling_again_gives_another(world: World) -> None:
    # given
    within, staff = study(world, protocol=small()), world.staff(Role.ADMINISTRATOR)
    laptop = device(world, within)
    client, address = world.client(laptop.token), f"/api/v1/studies/{within.name}/devices/{laptop.device.code}"
    assert client.get("/api/v1/clock").status_code == 200
    # when
    assert staff.post(f"{address}/revocation").status_code == 204
    assert staff.post(f"{address}/revocation").status_code == 204
    # then
    assert client.get("/api/v1/clock").status_code == 401
    code = said(staff.post(f"{address}/enrolment"))["enrolment_code"]
    token = said(enrol(world, code, new_key()))["token"]
    assert world.client(token).get("/api/v1/clock").status_code == 200
    assert client.get("/api/v1/clock").status_code == 401


def test_a_meter_sees_the_laptops_of_its_own_study(world: World) -> None:
    within, other = study(world, protocol=small()), study(world, protocol=small("another"))
    laptops, meter = [device(world, within) for _ in range(2)], device(world, within, "meter")
    device(world, other)
    answer = world.client(meter.token).get("/api/v1/device/laptops")
    assert said(answer) == {"laptops": sorted(each.device.code for each in laptops)}


def test_the_list_has_no_secrets(world: World) -> None:
    within, staff = study(world, protocol=small()), world.staff(Role.EXPERIMENTER)
    laptop = device(world, within)
    assert world.client(laptop.token).put("/api/v1/device/heartbeat", json=HEARTBEAT).status_code == 204
    (listed,) = said(staff.get(f"/api/v1/studies/{within.name}/devices"))["devices"]
    assert listed.keys() == {
        "code", "name", "kind", "created_us", "enrol_expires_us", "enrolled_us", "revoked_us", "heartbeat_us",
        "heartbeat",
    }  # fmt: skip
    assert listed["heartbeat"] == HEARTBEAT | {"gaps": None, "lost_seconds": None}


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "B-HAPPE"},
        {"free_gib": -1},
        {"free_gib": 1.5},
        {"spool": "1"},
        {"gaps": -1},
        {"lost_seconds": 0.5},
        {"software": {f"a{number}": "1" for number in range(33)}},
        {"software": {"happed": "x" * 65}},
        {"software": {"happed": "a\nb"}},
        {"more": 1},
    ],
)
def test_a_heartbeat_is_bounded(world: World, changed: Json) -> None:
    laptop = device(world, study(world, protocol=small()))
    answer = world.client(laptop.token).put("/api/v1/device/heartbeat", json=HEARTBEAT | changed)
    assert answer.status_code == 422


def test_a_clock_is_estimated_from_probes_and_kept_once(world: World) -> None:
    # given
    client = world.client(device(world, study(world, protocol=small())).token)
    probes = []
    for t0 in range(1000, 9000, 1000):
        clock = said(client.get("/api/v1/clock"))
        assert clock["receive_us"] <= clock["send_us"]
        probes.append([t0, 5_000_000 + t0, 5_000_010 + t0, t0 + 110])
    address = f"/api/v1/device/clocks/{uuid4()}"
    # when
    first, again = (client.put(address, json={"clock": BOOT, "probes": probes}) for _ in range(2))
    other = client.put(address, json={"clock": "realtime", "probes": probes})
    # then
    assert [first.status_code, again.status_code, other.status_code] == [201, 200, 409]
    assert first.json == again.json == {"offset_us": 4_999_950, "uncertainty_us": 51}


@pytest.mark.parametrize(
    "probes",
    [[], [[1, 2, 3]], [[1, 2, 3, -4]], [[1, 2, 3, 1 << 60]], [[5, 1, 2, 4]], [[1, 2, 3, 4.5]], [[1, 2, 3, 4]] * 65],
)
def test_probes_that_can_not_be_are_refused(world: World, probes: list[list[int]]) -> None:
    client = world.client(device(world, study(world, protocol=small())).token)
    answer = client.put(f"/api/v1/device/clocks/{uuid4()}", json={"clock": "realtime", "probes": probes})
    assert answer.status_code == 422


def test_two_devices_may_choose_the_same_id_for_their_clocks(world: World) -> None:
    within, address = study(world, protocol=small()), f"/api/v1/device/clocks/{uuid4()}"
    body = {"clock": "realtime", "probes": [[1, 2, 3, 4]]}
    answers = [world.client(device(world, within).token).put(address, json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]


def sit(world: World, laptop: Enrolled, token: str) -> TestResponse:
    return world.client(laptop.token).put("/api/v1/device/sitting", json={"participant": token})


def test_a_laptop_is_told_the_runs_of_who_sits_at_it_and_nothing_of_their_conditions(world: World) -> None:
    within = study(world, protocol=small())
    row, token = participant(world, within)
    answer = said(sit(world, device(world, within), token))
    assert (answer["participant"], answer["study"]) == (row.code, within.name)
    assert [run["position"] for run in answer["runs"]] == list(range(1, 11))
    told = {
        "code", "position", "application", "name", "command", "cpu", "seconds", "practice_seconds", "phase", "state",
    }  # fmt: skip
    assert all(run.keys() == told for run in answer["runs"])


def test_what_a_laptop_asks_is_the_same_for_everybody_in_the_study(world: World) -> None:
    within = study(world, protocol=small())
    laptop, protocol = device(world, within), protocol_of(within)
    [one, other] = [said(sit(world, laptop, participant(world, within)[1])) for _ in range(2)]
    for answer in (one, other):
        del answer["participant"], answer["runs"]
    assert one == other
    assert (one["title"], one["handout_read"]) == (protocol.title, True)
    assert one["rating"] == asdict(protocol.rating)
    assert one["guess"]["question"] == protocol.guess.question
    assert [choice["key"] for choice in one["guess"]["choices"]] == ["usual", "learning", "dont-know"]
    assert all(choice.keys() == {"key", "text"} for choice in one["guess"]["choices"]), "and not for what it is right"


def test_where_nobody_guesses_no_guess_is_asked(world: World) -> None:
    within = study(world, protocol=small() + "[guess]\nask = false\n")
    answer = said(sit(world, device(world, within), participant(world, within)[1]))
    assert answer["guess"] is None


def test_a_participant_sits_at_one_laptop_and_a_laptop_has_one_participant(world: World) -> None:
    # given
    within = study(world, protocol=small())
    one, other = device(world, within), device(world, within)
    (first, first_token), (_second, second_token) = participant(world, within), participant(world, within)
    # when
    sit(world, one, first_token)
    sit(world, one, first_token)
    sit(world, one, second_token)
    sit(world, other, first_token)
    sit(world, one, first_token)
    # then
    with world.database.reading() as session:
        open_ones = list(session.scalars(select(Sitting).where(Sitting.ended_us.is_(None))))
    assert [(each.device_id, each.participant_id) for each in open_ones] == [(one.device.id, first.id)]
    assert world.actions().count("sitting.begun") == 4


def test_who_stands_up_can_start_no_run(world: World) -> None:
    # given
    within = study(world, protocol=small())
    laptop, (_row, token) = device(world, within), participant(world, within)
    code = said(sit(world, laptop, token))["runs"][0]["code"]
    client = world.client(laptop.token)
    # when
    assert [client.delete("/api/v1/device/sitting").status_code for _ in range(2)] == [204, 204]
    # then
    answer = client.post(f"/api/v1/runs/{code}/start", json={"id": str(uuid4())})
    assert (answer.status_code, said(answer)["type"]) == (409, "urn:happe:problem:no-sitting")
    sit(world, laptop, token)
    assert started(world, code, laptop)


def test_nobody_sits_with_a_token_of_another_study_or_kind_or_before_enrolling(world: World) -> None:
    within, elsewhere = study(world, protocol=small()), study(world, protocol=small("other"))
    laptop = device(world, within)
    assert sit(world, laptop, participant(world, elsewhere)[1]).status_code == 422
    assert sit(world, laptop, laptop.token).status_code == 422
    assert sit(world, laptop, "nobody's").status_code == 422
    assert sit(world, laptop, participant(world, within, enrolled=False)[1]).status_code == 409
