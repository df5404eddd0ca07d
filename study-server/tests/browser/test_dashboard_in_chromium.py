# SPDX-License-Identifier: GPL-2.0-or-later
"""The run view and the live progress in Chromium: with and without JavaScript, by keyboard and pointer, at 200 %."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import select

import given_accounts
import given_power
import given_studies
from given_power import MeasuredRun
from happe_study.model.rights import Role
from happe_study.model.rules import DeviceKind
from happe_study.model.studies import Study
from happe_study.study.people import devices
from happe_study.study.runs import participation as participants
from serve import WIDE, Staff, WorldServer

TWICE, NARROW = 640, 320  # CSS pixels; 1280 at 200 % is 640
TITLE = "#figure-title"
EMAIL = "investigator@example.org"
GAP = (20.0, 20.5)
RATE_HZ = 2000
PARTS = {"whole": "", "closer": "?from=18&to=24", "single": "?from=7.0001&to=7.0101"}


class Lab(Staff):
    """A server with a measured run and an open study, and a signed-in investigator."""

    run: MeasuredRun


@pytest.fixture(scope="module")
def lab(server: WorldServer, browser: Browser) -> Lab:
    """A lab with a signed-in investigator."""
    given_accounts.account(server.world, Role.INVESTIGATOR, email=EMAIL)
    made = Lab(browser, server, EMAIL)
    made.run = given_power.measured_run(server.world, rate_hz=RATE_HZ, gap=GAP)
    given_studies.study(server.world, protocol=given_studies.small("open"))
    return made


@pytest.mark.parametrize("name", PARTS)
def test_a_run_is_accessible_and_fits_light_and_dark_wide_and_narrow_and_at_200_percent(lab: Lab, name: str) -> None:
    window = lab.open(lab.run.path + PARTS[name])
    page = window.page
    assert page.locator("h1").count() == 1
    expect(page.locator("#figure .uplot")).to_have_count(3)
    page.locator("summary").first.click()
    for scheme in ("dark", "light"):
        assert window.axe(scheme) == []
        window.picture(f"run-{name}-{WIDE}-{scheme}")
    for width in (TWICE, NARROW):
        window.resize(width)
        assert window.overflow() == 0, width
        window.picture(f"run-{name}-{width}-light")
    assert window.axe() == []
    assert window.wrong == []
    window.close()


def test_somebody_looks_closer_by_keyboard_alone_and_only_the_figure_is_exchanged(lab: Lab) -> None:
    window = lab.open(lab.run.path)
    page, keys = window.page, window.page.keyboard
    page.evaluate("document.querySelector('h1').dataset.kept = 'yes'")
    window.tab_to("#way-zoom-in")
    keys.press("Enter")
    expect(page.locator(TITLE)).to_have_text(re.compile("^From"))
    assert page.evaluate("document.querySelector('h1').dataset.kept") == "yes"
    page.wait_for_function("document.activeElement.id === 'way-zoom-in'")  # the focus stays where it was
    assert re.search(r"\?from=22\.5\d*&to=37\.5\d*$", page.url)
    window.tab_to("#from")
    keys.press("Control+A")
    keys.type("10")
    keys.press("Tab")
    keys.press("Control+A")
    keys.type("11")
    keys.press("Enter")
    expect(page.locator(TITLE)).to_have_text("From 10 to 11 s")
    page.go_back()
    expect(page.locator(TITLE)).to_have_text(re.compile("^From 22.5"))
    assert window.wrong == []
    window.close()


def test_the_charts_share_a_crosshair_and_zoom_by_drag_without_a_reload(lab: Lab) -> None:
    window = lab.open(lab.run.path)
    page = window.page
    page.evaluate("document.querySelector('h1').dataset.kept = 'yes'")
    plots = page.locator("#figure .u-over")
    expect(plots).to_have_count(3)
    plots.nth(1).scroll_into_view_if_needed()
    box = plots.nth(1).bounding_box()
    assert box
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 4, middle)
    for number, values in enumerate((r"CPU 0\s*[0-9.]+ %", r"policy 0\s*[0-9.]+ GHz", r"mean\s*[0-9.]+ W")):
        expect(page.locator("#figure .u-legend").nth(number)).to_contain_text(re.compile(values))
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, middle, steps=4)
    page.mouse.up()
    expect(page.locator(TITLE)).to_have_text(re.compile("^From"))
    begin, end = (float(each) for each in re.findall(r"=([0-9.]+)", page.url))
    assert begin == pytest.approx(lab.run.seconds / 4, abs=0.2)
    assert end == pytest.approx(lab.run.seconds / 2, abs=0.2)
    expect(plots).to_have_count(3)
    assert page.evaluate("document.querySelector('h1').dataset.kept") == "yes"
    assert window.wrong == []
    window.close()


def test_all_of_it_works_without_javascript(lab: Lab) -> None:
    window = lab.open(lab.run.path, script=False)
    page = window.page
    expect(page.get_by_role("region", name="What is drawn")).to_be_visible()
    page.click("#way-zoom-in")
    expect(page.locator(TITLE)).to_have_text(re.compile("^From 22.5"))
    page.fill("#from", "10")
    page.fill("#to", "11")
    page.click(".zoom button")
    expect(page.locator(TITLE)).to_have_text("From 10 to 11 s")
    page.fill("#from", "12")
    page.click(".zoom button")
    assert page.locator("#to-error").inner_text().startswith("Must be at least")
    page.goto("/studies/open")
    expect(page.locator("text=Reload the page for the latest state.")).to_be_visible()
    window.close()


def test_progress_comes_by_itself_while_the_page_is_in_sight(lab: Lab) -> None:
    window = lab.open("/studies/open")
    page = window.page
    asked: list[int] = []
    page.on("response", lambda answer: asked.append(answer.status) if "/progress" in answer.url else None)
    with page.expect_response("**/progress*") as nothing:
        _ask(page)
    assert nothing.value.status == 204, "nothing has changed"
    with lab.world.database.writing() as session:
        study = session.scalars(select(Study).where(Study.name == "open")).one()
        participants.invite(session, study, None)
        devices.create(session, study.id, "laptop <3", DeviceKind.LAPTOP, None)
    expect(page.locator("#progress")).to_contain_text("laptop <3")
    expect(page.locator("#participants-by-state tr", has_text="invited").locator("td")).to_have_text("1")
    expect(page.locator("#progress-said")).to_have_text(re.compile(r"runs complete\.$"))
    assert page.locator("#progress #progress-seen").count() == 1
    assert 200 in asked
    assert window.axe() == []
    for width in (TWICE, NARROW):
        window.resize(width)
        assert window.overflow() == 0
    assert window.wrong == []
    window.close()


def test_who_is_signed_out_meanwhile_is_led_to_the_sign_in(lab: Lab) -> None:
    window = lab.open("/studies/open")
    window.context.clear_cookies()
    _ask(window.page)
    window.page.wait_for_url("**/sign-in*")
    window.close()


def _ask(page: Page) -> None:
    """Let the page ask now, as after five seconds."""
    page.evaluate("askForNews()")
