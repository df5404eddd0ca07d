# SPDX-License-Identifier: GPL-2.0-or-later
"""Days and times are UTC wherever the server runs. At 23:30 UTC it is the next day east of Greenwich."""

import re
from datetime import UTC, datetime

import pytest

import given_participants as people
import given_studies
from happe_study.model.devices import Device
from happe_study.model.jobs import services as jobs
from happe_study.model.rights import Role
from happe_study.results.withdrawal import retention
from happe_study.web.staff.run_page import pages
from operated import Operated
from virtual_clock import Clock
from world import World

SECOND_US = 1_000_000
DAY = "2026-11-21"
NIGHT_US = int(datetime(2026, 11, 21, 23, 30, tzinfo=UTC).timestamp()) * SECOND_US
COMMANDS = ("study list", "study status small", "device list small", "job list")
PAGES = ("", "/participants/{person}", "/runs/{run}", "/devices", "/protocol", "/report")


@pytest.mark.parametrize("clock", [NIGHT_US], indirect=True)
@pytest.mark.usefixtures("clock")
def test_people_read_every_time_in_utc(operated: Operated) -> None:
    # Given a study of which everything happened in that half hour
    world = operated.world
    study = given_studies.study(world, protocol=given_studies.small())
    row, link = people.participant(world, study)
    laptop = people.laptop_with(world, study, row)
    run = people.runs_of(world, row)[0].code
    people.answered(world, run, laptop)
    with world.database.writing() as session:
        session.get_one(Device, laptop.device.id).heartbeat_us = NIGHT_US
        jobs.ask(session, "checks", "somebody", study.id)
    world.account(Role.CUSTODIAN)
    staff = world.staff(*Role)
    # When people read pages and answers of commands
    read = {command: operated.done(*command.split()).out for command in COMMANDS}
    for page in PAGES:
        path = f"/studies/small{page.format(person=row.code, run=run)}"
        read[path] = staff.get(path).text
    read["/audit"] = staff.get("/audit").text
    # Then all of it was on that day
    for where, text in read.items():
        assert set(re.findall(r"2026-\d\d-\d\d", text)) <= {DAY}, where
        assert set(re.findall(r"(?<![\d:])\d\d:\d\d(?!\w)", text)) <= {"23:30"}, where
    assert DAY in "".join(read.values())
    agreed = world.client(link).get("/p/consent").text
    assert "You agreed to this on 21 November 2026." in agreed
    # And a search finds it on that day alone
    found = {day: "study.locked" in staff.get(f"/audit?since={day}&until={day}").text for day in (DAY, "2026-11-22")}
    assert found == {DAY: True, "2026-11-22": False}


@pytest.mark.parametrize("rule", [f'until = "{DAY}"', "days_after_unblinding = 2"])
@pytest.mark.parametrize("clock", [NIGHT_US], indirect=True)
def test_identities_are_kept_until_midnight(world: World, clock: Clock, rule: str) -> None:
    study = given_studies.study(world, protocol=f"{given_studies.small()}\n[retention]\n{rule}\n")
    people.participant(world, study)
    given_studies.unblind(world)
    clock.us += 1800 * SECOND_US + (2 * 86_400 * SECOND_US if "days" in rule else 0) - 1
    asked = [retention.ask_where_due(world.database)]
    clock.us += 1
    assert [*asked, retention.ask_where_due(world.database)] == [0, 1]


@pytest.mark.parametrize(
    ("made", "expires", "said"),
    [(DAY, "2026-11-22", "valid until"), ("2026-11-20", DAY, "expired on"), ("2026-11-22", "2027-11-22", "made after")],
)
def test_a_calibration_is_valid_by_the_day_of_the_recording(made: str, expires: str, said: str) -> None:
    header = {"calibration": {"name": "a", "date": made, "expires": expires}, "started": {"realtime_us": NIGHT_US}}
    assert said in pages._calibration(header)[0]  # noqa: SLF001 - the page needs a measured study
