# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages for staff in Chromium: accessible, light and dark, wide and narrow, and by keyboard alone."""

import re
import time
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, expect

import given_accounts
import given_devices
import given_participants as people
import given_studies
from happe_study.base.clock import now_us
from happe_study.model.rights import Role
from happe_study.model.rules import FRESH_US, DeviceKind
from happe_study.model.runs import ExclusionReason
from happe_study.model.studies import Study
from happe_study.study.people import devices
from happe_study.study.runs import exclusions
from happe_study.study.runs import participation as participants
from happe_study.study.runs import services as runs
from serve import Staff, Watched, WorldServer
from world import World, fixed_secrets

UNCERTAIN_US = 2300
EVERYBODY = {role: f"{role}@example.org" for role in Role} | {"nobody": "nobody@example.org"}

INVESTIGATOR, EXPERIMENTER, CUSTODIAN = Role.INVESTIGATOR, Role.EXPERIMENTER, Role.CUSTODIAN
AUDITOR, ADMINISTRATOR, NOBODY = Role.AUDITOR, Role.ADMINISTRATOR, "nobody"

# Callers and the pages that they look at, one of each kind. The test fills in {code}, {run}, {device} and {finished}.
PAGES: dict[str, dict[str, str]] = {
    INVESTIGATOR: {
        "studies": "/studies",
        "study-new": "/new-study?example=paper-a3",
        "study-draft": "/studies/pilot",
        "study-locked": "/studies/crossover",
        "study-protocol": "/studies/crossover/protocol",
        "study-lock": "/studies/pilot/lock",
        "participants-none": "/studies/empty/participants",
        "participant-unblinded": "/studies/finished/participants/{finished}",
        "devices": "/studies/crossover/devices",
        "me": "/me",
        "me-second-factor": "/me/second-factor",
        "password": "/password",
        "sign-in-again": "/sign-in-again",
        "not-found": "/studies/none-such",
    },
    EXPERIMENTER: {
        "participants": "/studies/crossover/participants",
        "participant": "/studies/crossover/participants/{code}",
        "participant-withdraw": "/studies/crossover/participants/{code}/withdraw",
        "exclusions": "/studies/crossover/exclusions?code={run}",
        "run": "/studies/crossover/runs/{run}",
        "run-abort": "/studies/crossover/runs/{run}/abort",
    },
    AUDITOR: {"study-roles": "/studies/crossover/roles", "audit": "/audit", "audit-verify": "/audit/verify"},
    ADMINISTRATOR: {
        "device-new": "/studies/crossover/new-device",
        "device-revoke": "/studies/crossover/devices/{device}/revoke",
        "accounts": "/accounts",
        "account": "/accounts/experimenter@example.org",
    },
}
# Wrong forms, with their fields.
MISTAKES: dict[str, tuple[str, str, dict[str, str]]] = {
    "study-new-wrong": (
        INVESTIGATOR,
        "/new-study",
        {"protocol": 'name = "New Study"\nparticipants = "many"\n[orders]\n'},
    ),
    "exclude-wrong": (EXPERIMENTER, "/studies/crossover/exclusions", {"code": "7K2M9QXA", "note": "it crashed"}),
    "invite-wrong": (EXPERIMENTER, "/studies/crossover/invite", {"count": "1000"}),
    "password-wrong": (INVESTIGATOR, "/password", {"password": "x", "new_password": "y", "new_password_confirm": "z"}),
}
# Pages that show a secret once.
ONCE: dict[str, tuple[str, str, dict[str, str]]] = {
    "participants-invited-many": (EXPERIMENTER, "/studies/crossover/invite", {"count": "12"}),
    "device-code": (ADMINISTRATOR, "/studies/crossover/new-device", {"name": "laptop 9"}),
}


@dataclass
class Lab:
    """A server with studies in each state, and who has signed in, each with the time until which that is fresh."""

    world: World
    server: WorldServer
    browser: Browser
    names: dict[str, str]
    people: dict[str, tuple[Staff, float]] = field(default_factory=dict)

    def open(self, who: str, path: str) -> Watched:
        """A window in which somebody, who signed in a moment ago, looks at a page."""
        if who not in self.people or self.people[who][1] <= time.monotonic():
            staff = Staff(self.browser, self.server, EVERYBODY[who])
            self.people[who] = staff, time.monotonic() + FRESH_US / 2e6
        return self.people[who][0].open(path.format(**self.names))

    def send(self, who: str, path: str, form: dict[str, str]) -> Watched:
        """A window in which somebody has sent a form with these fields."""
        window = self.open(who, path)
        window.page.evaluate("for (const form of document.forms) form.noValidate = true")
        for name, value in form.items():
            window.page.fill(f"[name={name}]", value)
        with window.page.expect_navigation():
            window.page.locator("main form button").last.click()
        return window


@pytest.fixture(scope="module")
def lab(server: WorldServer, browser: Browser) -> Lab:
    """A lab that has worked for a while."""
    return Lab(server.world, server, browser, _past(server.world))


def _past(world: World) -> dict[str, str]:
    for who, email in EVERYBODY.items():
        given_accounts.account(world, *([Role(who)] if who in set(Role) else []), email=email)
    given_studies.study(world, protocol=given_studies.small("pilot"), locked=False)
    given_studies.study(world, protocol=given_studies.small("empty"))
    crossover = given_studies.study(world, "crossover")
    names = _at_work(world, crossover) | {"device": _devices(world, crossover)}
    finished = given_studies.study(world, protocol=given_studies.small("finished"))
    row, _link = people.participant(world, finished)
    given_studies.unblind(world, "finished")
    return names | {"finished": row.code}


def _at_work(world: World, study: Study) -> dict[str, str]:
    """Let one participant be done, one play, one stop, one drop out, and two be on their way. Returns codes by name."""
    done, _link = people.participant(world, study)
    laptop = people.laptop_with(world, study, done)
    played = people.runs_of(world, done)
    for run in played:
        people.completed(world, run.code, laptop)
    with world.database.writing() as session:
        mine, note = session.get_one(Study, study.id), "The game crashed twice, and the second run was 40 s short."
        for code, reason in ((played[2].code, ExclusionReason.FAULT), (done.code, ExclusionReason.NOT_ELIGIBLE)):
            exclusions.exclude(session, mine, code, reason, note, None)
    plays, playing = _plays(world, study)
    stopped, _link = people.participant(world, study)
    _abort(
        world, study, people.runs_of(world, stopped)[0].code, people.laptop_with(world, study, stopped), "a key hung"
    )
    for enrolled in (False, True, False):
        gone, _link = people.participant(world, study, enrolled=enrolled)
    with world.database.writing() as session:
        participants.replace(session, participants.find(session, study.id, gone.code), "did not come", None)
    return {"code": plays, "run": playing}


def _plays(world: World, study: Study) -> tuple[str, str]:
    """A participant who has completed a run, and plays another for the second time; and that run."""
    row, _link = people.participant(world, study)
    laptop = people.laptop_with(world, study, row)
    first, second = people.runs_of(world, row)[:2]
    people.completed(world, first.code, laptop)
    _abort(world, study, second.code, laptop, "the power went out")
    with world.database.writing() as session:
        again = runs.replace(session, runs.find(session, study.id, second.code), fixed_secrets(), None).code
    people.started(world, again, laptop)
    return row.code, again


def _abort(world: World, study: Study, code: str, laptop: given_devices.Enrolled, reason: str) -> None:
    people.started(world, code, laptop)
    with world.database.writing() as session:
        runs.abort(session, runs.find(session, study.id, code), reason, None)


def _devices(world: World, study: Study) -> str:
    """Add a meter that has reported, a device that has not enrolled, and a revoked one. Returns the meter's code."""
    meter = given_devices.device(world, study, "meter", name="meter in the cellar")
    probes = [[now_us(), now_us(), now_us() + 1, now_us() + UNCERTAIN_US]]
    said = {"state": "recording", "software": {"happe-meter": "0.1.0"}, "free_gib": 1234, "spool": 3}
    with world.database.writing() as session:
        devices.heartbeat(session, meter.device.id, said)
        devices.estimate_clock(session, meter.device.id, "11111111-2222-4333-8444-555555555555", "realtime", probes)
        devices.create(session, study.id, "laptop 7", DeviceKind.LAPTOP, None)
        lost, _code = devices.create(session, study.id, "laptop 3", DeviceKind.LAPTOP, None)
        devices.revoke(session, lost, None)
    return meter.device.code


@pytest.mark.parametrize("who", PAGES)
def test_pages_are_accessible_and_fit(lab: Lab, who: str) -> None:
    window = lab.open(who, "/me")
    for name, path in PAGES[who].items():
        window.page.goto(path.format(**lab.names))
        if name != "not-found":
            assert window.page.locator("h1").inner_text() not in {"Forbidden", "Not Found", "Internal Server Error"}
        window.looks_well(name)
    window.close()


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_said_on_top_and_beside_their_fields(lab: Lab, name: str) -> None:
    window = lab.send(*MISTAKES[name])
    page = window.page
    assert page.title().startswith("Error: ")
    assert page.locator('[aria-invalid="true"], tr.wrong').count() > 0
    summary = page.locator("[role=alert]")
    if summary.count():
        page.wait_for_function("document.activeElement.role === 'alert'")  # the browser focuses when it first draws
        summary.locator("a").first.click()
        expect(page.locator(":target")).to_have_count(1)
    window.looks_well(name)
    window.close()


@pytest.mark.parametrize("name", ONCE)
def test_what_is_shown_once_can_be_copied(lab: Lab, name: str) -> None:
    window = lab.send(*ONCE[name])
    assert window.page.locator("[readonly]").count() == 1
    window.looks_well(name)
    window.close()


def test_somebody_signs_in_and_locks_a_study_by_keyboard_alone(lab: Lab) -> None:
    given_studies.study(lab.world, protocol=given_studies.small("by-keyboard"), locked=False)
    given_studies.hold_roles(lab.world, "by-keyboard")
    window = Watched(lab.browser, lab.server.url)
    page, keys = window.page, window.page.keyboard
    page.goto("/studies/by-keyboard/lock")
    page.wait_for_function("document.activeElement.id === 'email'")
    keys.type(EVERYBODY[INVESTIGATOR])
    keys.press("Tab")
    keys.type(given_accounts.PASSWORD)
    keys.press("Enter")
    page.wait_for_url("**/studies/by-keyboard/lock")
    keys.press("Tab")
    page.wait_for_function("document.activeElement.className === 'skip'")
    keys.press("Enter")
    window.tab_to("#sure")
    keys.press("Space")
    keys.press("Tab")
    keys.press("Enter")
    page.wait_for_url(re.compile(r"/studies/by-keyboard(#main)?$"))
    assert page.locator("h1 .state").inner_text() == "locked"
    assert page.locator("[role=status]").inner_text().startswith("The study is locked.")
    assert window.wrong == []
    window.close()


EVERY_TAB = "Overview Participants Exclusions Profiles Devices Checks Report Exports Protocol Roles Unblinding"


@pytest.mark.parametrize(
    ("who", "of_a_study"),
    [
        (INVESTIGATOR, EVERY_TAB),
        (EXPERIMENTER, "Overview Participants Exclusions Devices Checks Protocol Roles Unblinding"),
        (Role.ANALYST, EVERY_TAB.replace("Devices ", "")),
        (Role.REVIEWER, "Overview Profiles Protocol Roles Unblinding"),
        (CUSTODIAN, "Overview Protocol Roles Unblinding"),
        (AUDITOR, "Overview Protocol Roles Unblinding"),
        (ADMINISTRATOR, "Overview Devices Protocol Roles Unblinding"),
        (NOBODY, ""),
    ],
)
def test_everybody_is_led_only_to_what_they_may_open(lab: Lab, who: str, of_a_study: str) -> None:
    window = lab.open(who, "/studies/crossover")
    page = window.page
    more = [link for role, link in ((AUDITOR, "Audit log"), (ADMINISTRATOR, "Accounts")) if role == who]
    assert page.locator("nav[aria-label=Main] a").all_inner_texts() == ["Studies", *more, "You"]
    assert page.locator("nav[aria-label='This study'] a").all_inner_texts() == of_a_study.split()
    for link in page.locator("nav a").evaluate_all("links => links.map(link => link.getAttribute('href'))"):
        answer = window.context.request.get(link)
        assert answer.status == 200, link
    window.close()


def test_a_custodian_unblinds_a_study_by_keyboard_alone(lab: Lab) -> None:
    given_studies.study(lab.world, protocol=given_studies.small("to-unblind"))
    window = lab.open(CUSTODIAN, "/studies/to-unblind/unblinding")
    page, keys = window.page, window.page.keyboard
    window.looks_well("unblinding")
    window.tab_to("main a[href$='/unblinding/study']")
    with page.expect_navigation():
        keys.press("Enter")
    window.looks_well("unblind-study")
    window.tab_to("#reason")
    keys.type("the last participant is done")
    window.tab_to("#override")
    keys.type("nobody took part")
    window.tab_to("#confirmation")
    keys.type("another")
    with page.expect_navigation():
        keys.press("Enter")
    page.wait_for_function("document.activeElement.role === 'alert'")
    window.looks_well("unblind-wrong")
    window.tab_to("#confirmation")
    keys.press("Control+A")
    keys.type("to-unblind")
    with page.expect_navigation():
        keys.press("Enter")
    expect(page.locator("main")).to_contain_text("Everything matches the seal")
    window.looks_well("unblinded")
    window.close()
