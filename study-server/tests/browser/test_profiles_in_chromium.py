# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages about profiles in Chromium: accessible, light and dark, wide to narrow and enlarged, and by keyboard."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import given_accounts
import given_participants as people
import given_profiles
from happe_study.access.rights import Role
from serve import Watched, WorldServer
from test_rules import LIMITS
from world import World, sqlite_copy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, StorageState

WIDE, ENLARGED, NARROW = 1280, 640, 320  # ENLARGED: 1280 at 200 %
REVIEWER, ANALYST, LEADER = "reviewer@example.org", "analyst@example.org", "leader@example.org"

# Callers and the pages that they look at. {code} has taught HAPPE, {silent} has not.
PAGES = {
    "profiles": (REVIEWER, ""),
    "profiles-filtered": (REVIEWER, "?keys=both&level=4&above_mhz=900&sort=highest"),
    "profiles-wrong": (REVIEWER, "?above_mhz=fast"),
    "profiles-sealed": (REVIEWER, "/../../blind/profiles"),
    "profile": (REVIEWER, "/{code}/torcs?after=2"),
    "profile-untaught": (ANALYST, "/{silent}/torcs"),
    "profile-map": (REVIEWER, "/map?application=torcs"),
    "profile-participant": (ANALYST, "/{code}"),
    "profile-comparison": (ANALYST, "/comparison?one={code}/torcs&other={code}/glest"),
    "profile-comparison-many": (
        ANALYST,
        "/comparison?profile={code}/torcs&profile={code}/glest&profile={silent}/torcs&profile={code}/torcs@1",
    ),
    "profile-reviews": (REVIEWER, "/reviews"),
    "profile-assignments": (LEADER, "/reviews"),
    "run-of-a-lesson": (REVIEWER, "/../runs/{run}?from=5&to=25"),
    "profile-comparison-wrong": (ANALYST, "/comparison?one=x&other={code}/chess"),
}


@dataclass
class Lab:
    """A server with an unblinded and a blinded study, and the signed-in people."""

    world: World
    server: WorldServer
    browser: Browser
    names: dict[str, str]
    signed_in: dict[str, StorageState]

    def open(self, who: str, path: str) -> Watched:
        """A window in which somebody looks at a page about profiles."""
        window = Watched(self.browser, self.server.url, WIDE, signed_in=self.signed_in[who])
        window.page.goto("/studies/small/profiles" + path.format(**self.names))
        return window


@pytest.fixture(scope="module")
def lab(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Lab]:
    """A lab with a finished study."""
    folder = tmp_path_factory.mktemp("profiles")
    world = World(folder, sqlite_copy(sqlite_template, folder), limits=LIMITS)
    first, *_others, silent = given_profiles.taught(world, players=4)
    given_profiles.taught(world, name="blind", players=1, runs=1, blind=True)
    for who, role in ((REVIEWER, Role.REVIEWER), (ANALYST, Role.ANALYST), (LEADER, Role.INVESTIGATOR)):
        given_accounts.account(world, role, email=who)
    with WorldServer(world) as server:
        names = {"code": first.code, "silent": silent.code, "run": people.runs_of(world, first)[0].code}
        states = {who: _sign_in(browser, server.url, who) for who in (REVIEWER, ANALYST, LEADER)}
        yield Lab(world, server, browser, names, states)
    world.close()


def _sign_in(browser: Browser, url: str, who: str) -> StorageState:
    window = Watched(browser, url)
    state = window.sign_in(who)
    window.close()
    return state


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_and_fits(lab: Lab, name: str) -> None:
    window = lab.open(*PAGES[name])
    page = window.page
    assert page.locator("h1").count() == 1
    assert page.locator("h1").inner_text() not in {"Forbidden", "Not Found", "Internal Server Error"}
    for scheme in ("dark", "light"):
        assert window.axe(scheme) == [], name
        window.picture(f"{name}-{WIDE}-{scheme}")
    for width in (WIDE, ENLARGED, NARROW):
        window.resize(width)
        assert window.overflow() == 0, (name, width)
    assert window.axe() == [], name
    window.picture(f"{name}-{NARROW}-light")
    assert window.wrong == [], name
    window.close()


def test_a_reviewer_goes_through_the_lessons_and_flags_a_profile_by_keyboard_alone(lab: Lab) -> None:
    window = lab.open(REVIEWER, "")
    page, keys = window.page, window.page.keyboard
    window.tab_to("#q")
    keys.type(lab.names["code"])
    keys.press("Enter")
    page.wait_for_url("**q=*")
    window.tab_to("tbody th a")
    keys.press("Enter")
    page.wait_for_url(re.compile(r"/(torcs|glest)\?q="))
    window.tab_to("#after")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    keys.press("Home")
    keys.press("ArrowRight")
    expect(page.locator("#state-title")).to_have_text(re.compile("^After lesson 1 of "))
    window.tab_to("#reason")
    keys.type("the ladder ends too early")
    keys.press("Enter")
    expect(page.locator("[role=status]")).to_have_text(re.compile("^[A-Z][a-z]+ of [0-9A-Z]{8} is flagged.$"))
    assert window.wrong == []
    window.close()


def test_a_table_sorts_filters_keeps_its_state_in_the_address_and_saves_what_it_shows(lab: Lab, tmp_path: Path) -> None:
    window = lab.open(REVIEWER, "")
    page, keys = window.page, window.page.keyboard
    rows = page.locator("tbody tr:visible")
    every = rows.count()
    window.tab_to("th.number .sorter")
    keys.press("Enter")
    keys.press("Enter")
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Highest, GHz")
    highest = [float(text) for text in page.locator("tbody tr td:nth-child(5)").all_inner_texts()]
    assert highest == sorted(highest, reverse=True)
    page.get_by_role("searchbox", name="Filter: Profiles").fill("glest")
    expect(rows).to_have_count(every // 2)
    expect(page.locator(".table-bar [aria-live]")).to_have_text(f"{every // 2} of {every} rows")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    text = tmp_path / saved.value.suggested_filename
    saved.value.save_as(text)
    head, *lines = csv.reader(text.read_text().splitlines())
    assert head[:4] == ["Participant", "Application", "Level 0 to 9", "Highest, GHz"]
    assert [line[1].split(" of ")[0] for line in lines] == ["Glest"] * (every // 2)
    assert [float(line[3]) for line in lines] == sorted((float(line[3]) for line in lines), reverse=True)
    assert lines[0][2].startswith("GHz by level: ")
    page.goto(page.url)
    expect(rows).to_have_count(every // 2)
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Highest, GHz")
    window.resize(390)
    assert window.overflow() == 0
    for column in range(9):
        box = page.locator("tbody tr:visible").first.locator("th, td").nth(column).bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390, column
    assert window.axe() == []
    assert window.wrong == []
    window.close()


def test_keys_go_to_the_neighbours_and_can_be_turned_off(lab: Lab) -> None:
    window = lab.open(REVIEWER, "/{code}/torcs?sort=presses")
    page, keys = window.page, window.page.keyboard
    begins = page.locator("h1").inner_text()
    there, back = ("j", "k") if page.locator("[data-shortcut=j]").count() else ("k", "j")
    with page.expect_navigation():
        keys.press(there)
    expect(page.locator("h1")).not_to_have_text(begins)
    with page.expect_navigation():
        keys.press(back)
    expect(page.locator("h1")).to_have_text(begins)
    keys.press("n")
    expect(page.locator("#note")).to_be_focused()
    keys.type("jk")
    expect(page.locator("#note")).to_have_value("jk")
    page.locator("#shortcuts").uncheck()
    keys.press(there)
    page.reload()
    expect(page.locator("h1")).to_have_text(begins)
    expect(page.locator("#shortcuts")).not_to_be_checked()
    assert window.wrong == []
    window.close()


def test_ticked_profiles_are_compared_at_an_address_to_share(lab: Lab) -> None:
    window = lab.open(REVIEWER, "")
    page, keys = window.page, window.page.keyboard
    for _ in range(3):
        window.tab_to("input[name=profile]")
        keys.press("Space")
    page.get_by_role("button", name="Compare the ticked").press("Enter")
    page.wait_for_url("**/comparison?profile=*")
    expect(page.locator(".legend li")).to_have_count(3)
    slider = page.locator(".crosshair").first
    slider.focus()
    keys.press("ArrowRight")
    assert len(re.findall(r"[0-9.]+ GHz", slider.get_attribute("aria-valuetext") or "")) == 3
    assert window.wrong == []
    window.close()
