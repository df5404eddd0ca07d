# SPDX-License-Identifier: GPL-2.0-or-later
"""The pages about profiles in Chromium: accessible, light and dark, wide to narrow and enlarged, and by keyboard."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import given_accounts
import given_profiles
from happe_study.access.rights import Role
from serve import Watched, WorldServer
from test_rules import LIMITS
from world import World, sqlite_copy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, StorageState

WIDE, ENLARGED, NARROW = 1280, 640, 320  # ENLARGED: what 200 % leaves of 1280
REVIEWER, ANALYST = "reviewer@example.org", "analyst@example.org"

# Who looks at what; {code} has taught, {silent} has not.
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
    "profile-comparison-wrong": (ANALYST, "/comparison?one=x&other={code}/chess"),
}


@dataclass
class Lab:
    """A server with an unblinded and a blinded study, and who is signed in to it."""

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
    """A lab whose study is over."""
    folder = tmp_path_factory.mktemp("profiles")
    world = World(folder, sqlite_copy(sqlite_template, folder), limits=LIMITS)
    first, *_others, silent = given_profiles.taught(world, players=4)
    given_profiles.taught(world, name="blind", players=1, runs=1, blind=True)
    for who, role in ((REVIEWER, Role.REVIEWER), (ANALYST, Role.ANALYST)):
        given_accounts.account(world, role, email=who)
    with WorldServer(world) as server:
        names = {"code": first.code, "silent": silent.code}
        states = {who: _sign_in(browser, server.url, who) for who in (REVIEWER, ANALYST)}
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
    page.wait_for_url(re.compile(r"/(torcs|glest)$"))
    window.tab_to("#after")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    keys.press("Home")
    keys.press("ArrowRight")
    keys.press("Tab")
    keys.press("Enter")
    page.wait_for_url("**after=1*")
    assert page.locator("#state").inner_text().startswith("After lesson 1 of ")
    window.tab_to("#reason")
    keys.type("the ladder ends too early")
    keys.press("Enter")
    expect(page.locator("[role=status]")).to_have_text("The profile is flagged.")
    expect(page.locator("h1 .state")).to_have_text("flagged")
    assert window.wrong == []
    window.close()
