# SPDX-License-Identifier: GPL-2.0-or-later
"""A reviewer's most frequent steps, without a mouse, in Chromium and in Firefox."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

import given_accounts
import given_participants as people
import given_profiles
import given_studies
from happe_study.access.rights import Role
from serve import Watched, WorldServer
from test_rules import LIMITS
from world import World, sqlite_copy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

WIDE, PHONE = 1280, 390  # CSS pixels
PLACES, PLAYERS = 12, 10  # each has two profiles
RUNS = 10  # of each player; so they play both applications
REVIEWERS = {"chromium": "first@example.org", "firefox": "second@example.org"}
RUN_S = 60.0
MOST_PRESSES = 10  # in the seconds around a press

# The colour schemes that a browser shows.
SHOWN = {"chromium": ("dark", "light"), "firefox": ("light",), "firefox-dark": ("dark",)}
LONG_IN_FIREFOX = ["chromium", pytest.param("firefox", marks=pytest.mark.long)]

# Pages that a reviewer looks at. The test fills in {code} and {run}.
PAGES = {
    "study": "",
    "profiles": "/profiles",
    "profile": "/profiles/{code}/torcs?after=2",
    "comparison": "/profiles/comparison?profile={code}/torcs&profile={code}/glest",
    "map": "/profiles/map?application=torcs",
    "reviews": "/profiles/reviews",
    "run": "/runs/{run}?from=5&to=25",
}


@dataclass
class Lab:
    """A server with an unblinded study, and its reviewers."""

    server: WorldServer
    names: dict[str, str]

    def open(self, browser: Browser, path: str) -> Watched:
        """A window in which the reviewer who uses this browser looks at a page of the study."""
        window = Watched(browser, self.server.url, WIDE)
        window.sign_in(REVIEWERS[browser.browser_type.name])
        window.page.goto("/studies/small" + path.format(**self.names))
        return window


@pytest.fixture(scope="module")
def lab(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A finished study with twenty profiles."""
    folder = tmp_path_factory.mktemp("workbench")
    world = World(folder, sqlite_copy(sqlite_template, folder), limits=LIMITS)
    made = given_studies.study(world, protocol=given_studies.small(participants=PLACES))
    everybody = [people.participant(world, made)[0] for _ in range(PLAYERS)]
    for number, row in enumerate(everybody):
        given_profiles.play(world, made, row, RUNS, presses=given_profiles.OFTEN, seed=100 * number)
    given_profiles.unblind(world, made)
    for who in REVIEWERS.values():
        given_accounts.account(world, Role.REVIEWER, email=who)
    with WorldServer(world) as server:
        yield Lab(server, {"code": everybody[0].code, "run": people.runs_of(world, everybody[0])[0].code})
    world.close()


def test_a_press_of_an_unusual_profile_is_three_actions_from_the_study_s_page_and_one_back(
    lab: Lab, either: Browser
) -> None:
    window = lab.open(either, "")
    page = window.page
    _follow(window, "main a[href$='/profiles/reviews']")
    _follow(window, "tr:has(th:has-text('Most unusual')) td a")
    assert "number 1 of" in page.locator("dl.facts").inner_text()
    said = re.search(
        r"Lesson \d+, (\d+):(\d+) into run \w+: . (faster|save power) at", page.locator("#state").inner_text()
    )
    assert said
    pressed_s, key = 60 * int(said[1]) + int(said[2]), said[3]
    _follow(window, "#state a:has-text('See the seconds around it')")
    begin, end = (float(each) for each in re.findall(r"(?:from|to)=([0-9.]+)", page.url))
    assert (begin, end) == pytest.approx((max(pressed_s - 10, 0), min(pressed_s + 10, RUN_S)), abs=1)
    expect(page.locator("#figure-title")).to_have_text(re.compile("^From "))
    values = page.locator("#of-run .crosshair")
    values.focus()
    heard = []
    for _ in range(MOST_PRESSES):
        page.keyboard.press("p")
        heard.append(
            (float(values.get_attribute("aria-valuenow") or "nan"), values.get_attribute("aria-valuetext") or "")
        )
    assert any(abs(at_s - pressed_s) <= 1 and f"{key}: level" in text for at_s, text in heard), heard
    _follow(window, "nav[aria-label='This study'] a:has-text('Overview')", "Shift+Tab")
    assert page.url == f"{lab.server.url}/studies/small"
    assert window.wrong == []
    window.close()


def _follow(window: Watched, link: str, key: str = "Tab") -> None:
    """One action: tab to a link and press Enter."""
    window.tab_to(link, key)
    with window.page.expect_navigation():
        window.page.keyboard.press("Enter")


@pytest.mark.parametrize("either", LONG_IN_FIREFOX, indirect=True)
def test_twenty_profiles_are_reviewed_without_a_mouse(lab: Lab, either: Browser) -> None:
    window = lab.open(either, "/profiles/reviews")
    page, keys = window.page, window.page.keyboard
    left = page.locator("tr:has(th:has-text('Not reviewed by you')) td.number")
    expect(left).to_have_text(str(2 * PLAYERS))
    _follow(window, "tr:has(th:has-text('Not reviewed by you')) td a")
    judged = set()
    for number in range(2 * PLAYERS):
        title = page.locator("h1").inner_text().removesuffix("flagged").strip()
        judged.add(title)
        with page.expect_navigation():
            if number % 5:
                keys.press("o")
            else:
                keys.press("f")
                expect(page.locator("#reason")).to_be_focused()
                keys.type("presses contradict each other")
                keys.press("Enter")
        said = f"{title.replace(', learned for ', ' of ')} is {'passed' if number % 5 else 'flagged'}. Your list has "
        rest = 2 * PLAYERS - 1 - number
        said += "none left." if not rest else f"{rest} profile{'s' * (rest > 1)} left."
        expect(page.locator("[role=status]")).to_have_text(said)
    assert len(judged) == 2 * PLAYERS
    page.goto(f"{lab.server.url}/studies/small/profiles/reviews")
    expect(left).to_have_text("0")
    assert window.wrong == []
    window.close()


@pytest.mark.parametrize(
    ("shown_by", "name"),
    [
        pytest.param(shown_by, name, marks=pytest.mark.long if shown_by != "chromium" and name != "profile" else ())
        for shown_by in SHOWN
        for name in PAGES
    ],
)
def test_a_page_is_accessible_and_fits_a_desk_and_a_phone_light_and_dark(
    lab: Lab, start: Callable[[str], Browser], shown_by: str, name: str
) -> None:
    window = lab.open(start(shown_by), PAGES[name])
    page = window.page
    assert page.locator("h1").inner_text() not in {"Forbidden", "Not Found", "Internal Server Error"}
    for width in (WIDE, PHONE):
        window.resize(width)
        assert window.overflow() == 0, width
        for scheme in SHOWN[shown_by]:
            assert window.axe(scheme) == [], (width, scheme)
            window.picture(f"workbench-{shown_by}-{name}-{width}-{scheme}")
    assert window.wrong == []
    window.close()


@pytest.mark.parametrize("either", LONG_IN_FIREFOX, indirect=True)
@pytest.mark.parametrize("name", ["profile", "comparison", "run"])
def test_every_value_of_a_chart_is_read_by_keyboard(lab: Lab, either: Browser, name: str) -> None:
    window = lab.open(either, PAGES[name])
    page, keys = window.page, window.page.keyboard
    lines = page.locator(".crosshair")
    assert lines.count() > 0
    for number in range(lines.count()):
        line = lines.nth(number)
        line.focus()
        keys.press("Home")
        first = line.get_attribute("aria-valuetext")
        keys.press("End")
        last = line.get_attribute("aria-valuetext")
        assert first != last
        assert first
        keys.press("Home")
        said = [first]
        while said[-1] != last:
            keys.press("ArrowRight")
            said.append(line.get_attribute("aria-valuetext") or "")
            assert said[-1] != said[-2], said
        assert all(re.search("[0-9]", each) for each in said)
    assert window.wrong == []
    window.close()
