# SPDX-License-Identifier: GPL-2.0-or-later
"""The live progress: only changes are sent; and what needs attention, for those who may know of it."""

import re
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import select, update

import given_devices
import given_participants as people
import given_studies
import given_traces
import records
from happe_study.base.clock import now_us
from happe_study.model.devices import Device
from happe_study.model.rights import RIGHTS, Right, Role
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.results.overview import HOUR_US, MINUTE_US, progress
from happe_study.study.people import devices, sittings
from happe_study.study.runs import participation as services
from world import World

SEEN = re.compile(r'name="seen" value="([0-9a-f]{16})"')
HEARTBEAT: dict[str, Any] = {"state": "idle", "software": {"happe-power": "0.1.0"}, "free_gib": 100, "spool": 0}
EVERY = frozenset(Right)


def to_look_after(world: World, study: Study, rights: frozenset[Right] = EVERY) -> list[str]:
    with world.database.reading() as session:
        return [each.words for each in progress(session, session.get_one(Study, study.id), rights).attention]


def beats(world: World, device: given_devices.Enrolled, ago_us: int = 0, **said: object) -> None:
    with world.database.writing() as session:
        devices.heartbeat(session, device.device.id, HEARTBEAT | said)
        at = update(Device).where(Device.id == device.device.id)
        session.execute(at.values(heartbeat_us=now_us() - ago_us))


def test_what_changed_is_sent_and_nothing_if_nothing_did(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    client = world.staff(Role.INVESTIGATOR)
    page = client.get("/studies/small").text
    seen = SEEN.search(page)
    assert seen
    path = f"/studies/small/progress?seen={seen[1]}"
    same = client.get(path)
    assert (same.status_code, same.data) == (HTTPStatus.NO_CONTENT, b"")
    people.participant(world, study)
    news = client.get(path)
    assert news.status_code == HTTPStatus.OK
    assert "<html" not in news.text
    found = SEEN.search(news.text)
    assert found
    assert found[1] != seen[1]
    assert client.get(f"/studies/small/progress?seen={found[1]}").status_code == HTTPStatus.NO_CONTENT


def test_the_page_says_who_is_next_to_who_may_see_participants(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    seated, waiting, begun = (people.participant(world, study)[0] for _ in range(3))
    laptop = given_devices.device(world, study, name="red")
    given_devices.seat(world, laptop, begun.id)
    people.completed(world, people.runs_of(world, begun)[0].code, laptop)
    with world.database.writing() as session:
        sittings.close(session, device_id=laptop.device.id)
    given_devices.seat(world, laptop, seated.id)
    invited, agreed = (people.participant(world, study, enrolled=False)[0] for _ in range(2))
    with world.database.writing() as session:
        services.consent(session, agreed.id, "1", "erase", None)
    told = [
        (seated.code, "sits at red, 0 of 10 runs complete"),
        (waiting.code, "can begin the first run"),
        (begun.code, "can go on, 1 of 10 runs complete"),
        (agreed.code, "has agreed, and must answer the questionnaire"),
        (invited.code, "is invited, and must open the link and agree"),
    ]
    with world.database.reading() as session:
        now = progress(session, session.get_one(Study, study.id), EVERY)
    assert [(each.code, each.words) for each in now.upcoming] == told
    for role in (Role.EXPERIMENTER, Role.ANALYST, Role.REVIEWER, Role.CUSTODIAN):
        page = world.staff(role).get("/studies/small").text
        assert ("Who is next" in page, waiting.code in page) == (Right.RUN_READ in RIGHTS[role],) * 2
    given_studies.unblind(world, study.name)
    with world.database.reading() as session:
        assert progress(session, session.get_one(Study, study.id), EVERY).upcoming == []


def test_devices_that_are_in_trouble_are_to_be_looked_after(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    laptop = given_devices.device(world, study, name="red")
    meter = given_devices.device(world, study, "meter", name="bench")
    assert to_look_after(world, study) == []
    beats(world, meter, free_gib=4)
    assert to_look_after(world, study) == [
        "bench has 4 GiB left",
        "the clock of bench was never compared with the server's",
    ]
    with world.database.writing() as session:
        probes = [[now_us(), now_us(), now_us() + 1, now_us() + 400_000]]
        devices.estimate_clock(session, meter.device.id, str(uuid4()), "realtime", probes)
    beats(world, meter)
    beats(world, laptop, state="fault")
    assert to_look_after(world, study) == [
        "the clock of bench is known only within 200 ms",
        "red reports a fault",
    ]
    beats(world, laptop, 25 * HOUR_US, state="fault")
    assert to_look_after(world, study, EVERY - {Right.DEVICE_READ}) == []


def test_a_meter_that_records_shows_its_gaps_and_no_watts(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    meter = given_devices.device(world, study, "meter", name="bench")
    client = world.staff(Role.INVESTIGATOR)
    beats(world, meter)  # as a logger says it that is older than this server
    assert "gap" not in client.get("/studies/small").text.partition('id="devices-now"')[2]
    beats(world, meter, state="recording", gaps=2, lost_seconds=1234)
    page = client.get("/studies/small").text
    assert "recording, 2 gaps: 1\N{NARROW NO-BREAK SPACE}234 s lost" in page
    assert not re.search(r"\d W\b|watt", page)
    beats(world, meter, state="recording", gaps=0, lost_seconds=0)
    assert "recording, 0 gaps<br>" in client.get("/studies/small").text


def test_a_trace_that_does_not_go_on_is_to_be_looked_after(world: World) -> None:
    trace = given_traces.uploaded(world, 2)
    with world.database.writing() as session:
        study = session.scalars(select(Study)).one()
        meter = session.scalars(select(Device).where(Device.kind == "meter")).one()
        session.expunge_all()
    assert trace.trace
    enrolled = given_devices.Enrolled(meter, "", None)
    beats(world, enrolled, 6 * MINUTE_US, state="recording")
    assert any("was recording, but no longer reports" in each for each in to_look_after(world, study))
    beats(world, enrolled, state="recording")
    assert not any("fallen silent" in each for each in to_look_after(world, study))


def test_runs_that_should_have_gone_on_are_to_be_looked_after(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    row, _link = people.participant(world, study)
    laptop = people.laptop_with(world, study, row)
    first, second = people.runs_of(world, row)[:2]
    people.answered(world, first.code, laptop)
    people.started(world, second.code, laptop)
    assert to_look_after(world, study) == []
    with world.database.writing() as session:
        late = now_us() - 2 * HOUR_US
        session.execute(update(Run).where(Run.id == first.id).values(rated_us=late))
        session.execute(update(Run).where(Run.id == second.id).values(started_us=late))
    wanted = ["was started, but is not rated", "is rated, but its record has not arrived"]
    assert to_look_after(world, study) == wanted
    assert to_look_after(world, study, EVERY - {Right.RUN_READ}) == []
    record = records.make(first.code, 5)
    assert given_devices.put_record(world.client(laptop.token), record).status_code == HTTPStatus.CREATED
    assert to_look_after(world, study) == wanted[:1]


@pytest.mark.parametrize("role", Role)
def test_everybody_sees_as_much_of_it_as_their_rights_allow(world: World, role: Role) -> None:
    trace = given_traces.uploaded(world, 1)
    text = world.staff(role).get("/studies/small/progress").text
    sees_devices = Right.DEVICE_READ in RIGHTS[role]
    assert ("0 of 1 sealed" in text) == sees_devices
    assert "MiB" not in text, "a size reveals a condition"
    assert "Last contact" in text
    assert trace.acknowledged
