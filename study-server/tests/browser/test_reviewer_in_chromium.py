# SPDX-License-Identifier: GPL-2.0-or-later
"""A reviewer's way in Chromium: find a profile, read it to the seconds of its lessons, compare and judge it."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import given_accounts
import given_profiles
from happe_study.model.rights import Role
from serve import Staff, Watched, WorldServer

PHONE = 390  # CSS pixels
REVIEWER = "reviewer@example.org"
PLAYERS = 4  # each has two profiles, and a table of more than six rows has a filter

# The pages that a reviewer looks at. {code} has taught HAPPE, {silent} has not.
PAGES = {
    "profiles": "?application=torcs",
    "profiles-wrong": "?above_mhz=fast",
    "profiles-sealed": "/../../blind/profiles",
    "profile": "/{code}/torcs?after=2&other={code}/glest",
    "profile-untaught": "/{silent}/torcs",
    "profile-reviews": "/reviews",
}


class Lab(Staff):
    """A server with an unblinded and a blinded study, and a signed-in reviewer."""

    names: dict[str, str]

    def look(self, path: str, *, script: bool = True) -> Watched:
        """A window in which the reviewer looks at a page about profiles."""
        return self.open("/studies/small/profiles" + path.format(**self.names), script=script)


@pytest.fixture(scope="module")
def lab(server: WorldServer, browser: Browser) -> Lab:
    """A lab with a finished study."""
    first, *_others, silent = given_profiles.taught(server.world, players=PLAYERS)
    given_profiles.taught(server.world, name="blind", players=1, runs=1, blind=True)
    given_accounts.account(server.world, Role.REVIEWER, email=REVIEWER)
    made = Lab(browser, server, REVIEWER)
    made.names = {"code": first.code, "silent": silent.code}
    return made


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_and_fits(lab: Lab, name: str) -> None:
    window = lab.look(PAGES[name])
    page = window.page
    assert page.locator("h1").inner_text() not in {"Forbidden", "Not Found", "Internal Server Error"}
    window.looks_well(name)
    window.close()


def test_every_profile_is_reviewed_by_keyboard_from_the_most_unusual_one_on(lab: Lab) -> None:
    # When the reviewer looks at a lesson, and at its seconds in the run
    window = lab.look("/{code}/torcs")
    page, keys = window.page, window.page.keyboard
    window.tab_to("#after")
    with page.expect_request(re.compile("after=0$")):
        keys.press("Home")
    keys.press("ArrowRight")  # while the page waits for the answer
    expect(page.locator("#state-title")).to_have_text(re.compile("^After lesson 1 of "))
    expect(page.locator("#state .uplot")).to_have_count(1)
    expect(page.locator("#state .u-legend")).to_contain_text("after lesson 1")
    _follow(window, "#state a:has-text('See the seconds around it')")
    expect(page.locator("#figure-title")).to_have_text(re.compile("^From "))
    expect(page.locator("#figure .uplot")).to_have_count(2)
    # When they follow the list of what they have not reviewed
    page.goto("/studies/small/profiles/reviews")
    left = page.locator("tr:has(th:has-text('Not reviewed by you')) td.number")
    expect(left).to_have_text(str(2 * PLAYERS))
    _follow(window, "tr:has(th:has-text('Not reviewed by you')) td a")
    assert "number 1 of" in page.locator("dl.facts").inner_text()
    # Then each verdict leads to the next profile
    judged = set()
    for rest in reversed(range(2 * PLAYERS)):
        title = page.locator("h1").inner_text().removesuffix("flagged").strip()
        judged.add(title)
        verdict = "passed" if rest % 2 else "flagged"
        window.tab_to("button:has-text('Pass:')" if rest % 2 else "#reason")
        if verdict == "flagged":
            keys.type("presses contradict each other")
        with page.expect_navigation():
            keys.press("Enter")
        said = "none left." if not rest else f"{rest} profile{'s' * (rest > 1)} left."
        whose = title.replace(", learned for ", " of ")
        expect(page.locator("[role=status]")).to_have_text(f"{whose} is {verdict}. Your list has {said}")
    assert len(judged) == 2 * PLAYERS
    assert window.wrong == []
    window.close()


def _follow(window: Watched, link: str) -> None:
    """Tab to a link and press Enter."""
    window.tab_to(link)
    with window.page.expect_navigation():
        window.page.keyboard.press("Enter")


def test_a_table_sorts_filters_keeps_its_state_in_the_address_and_saves_what_it_shows(lab: Lab, tmp_path: Path) -> None:
    window = lab.look("")
    page, keys = window.page, window.page.keyboard
    rows = page.locator("tbody tr:visible")
    every = rows.count()
    window.tab_to("th.number .sorter")
    keys.press("Enter")
    keys.press("Enter")
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Highest, GHz")
    page.get_by_role("button", name="Save as CSV").wait_for()
    page.goto(f"{page.url}&profiles.find=glest")
    expect(rows).to_have_count(every // 2)
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Highest, GHz")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    text = tmp_path / saved.value.suggested_filename
    saved.value.save_as(text)
    head, *lines = csv.reader(text.read_text().splitlines())
    assert head[:4] == ["Participant", "Application", "Level 0 to 9", "Highest, GHz"]
    assert [line[1].split(" of ")[0] for line in lines] == ["Glest"] * (every // 2)
    assert [float(line[3]) for line in lines] == sorted((float(line[3]) for line in lines), reverse=True)
    assert lines[0][2].startswith("GHz by level: ")
    window.resize(PHONE)
    assert window.overflow() == 0
    assert window.axe() == []
    assert window.wrong == []
    window.close()


def test_without_javascript_the_tables_have_what_the_charts_show(lab: Lab) -> None:
    window = lab.look("/{code}/torcs", script=False)
    table = window.page.get_by_role("region", name="Frequency by level", exact=True)
    expect(table.locator("tbody tr")).to_have_count(10)
    expect(table).to_be_visible()
    window.page.click("a[rel=prev]")
    expect(window.page.locator("#state-title")).to_have_text(re.compile("^After lesson "))
    window.close()
