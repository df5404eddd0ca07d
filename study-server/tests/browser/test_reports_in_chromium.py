# SPDX-License-Identifier: GPL-2.0-or-later
"""A researcher makes a report and reads it in Chromium, and sees what the checks say."""

import pytest
from playwright.sync_api import Browser, expect
from sqlalchemy import update

import given_accounts
import given_jobs
import given_reports
from happe_study.model.devices import ClockEstimate, Device
from happe_study.model.rights import Role
from happe_study.model.runs import Run
from serve import Staff, WorldServer
from world import World

A4 = 657  # CSS pixels of 174 mm: A4 without the margins
ANALYST = "analyst@example.org"


@pytest.fixture(scope="module")
def analyst(server: WorldServer, browser: Browser) -> Staff:
    """The analyst of an unblinded study, and of a locked one."""
    given_accounts.account(server.world, Role.ANALYST, email=ANALYST)
    given_reports.finished(server.world)
    given_reports.finished(server.world, "running", participants=1, unblinded=False)
    return Staff(browser, server, ANALYST)


def _plant(world: World) -> None:
    """Plant faults for the checks: a run with a wrong condition, and a wrong clock."""
    with world.database.writing() as session:
        run = session.query(Run).filter_by(condition="ondemand").first()
        assert run is not None
        run.condition = "O-HAPPE"
        laptop = session.query(Device).filter_by(id=run.device_id).one()
        for number, offset in enumerate((0, 2_000_000)):
            facts = {"device_us": number * 60_000_000, "server_us": 1, "offset_us": offset, "uncertainty_us": 2000}
            name = f"0000000{number}-2222-4333-8444-555555555555"
            session.add(ClockEstimate(device_id=laptop.id, client_id=name, clock="monotonic:x", probes=1, **facts))
        session.execute(update(Run).where(Run.id == run.id).values(condition="O-HAPPE"))


def test_a_report_is_made_and_read(analyst: Staff) -> None:
    watched = analyst.open("/studies/running/report")
    page = watched.page
    assert page.locator("h2").first.inner_text() == "Not before the study is unblinded"
    watched.looks_well("report-later")
    page.goto("/studies/finished/report")
    watched.looks_well("report-none")
    # When a document is wrong
    page.set_input_files("#measures", {"name": "m.json", "mimeType": "application/json", "buffer": b'{"measures": 1}'})
    page.locator("form[action$=measures] button").click()
    expect(page.locator("#measures")).to_have_attribute("aria-invalid", "true")
    assert page.title().startswith("Error: ")
    watched.looks_well("report-wrong")
    # When it is right
    raw = given_reports.measures(analyst.world)
    page.set_input_files("#measures", {"name": "measures.json", "mimeType": "application/json", "buffer": raw})
    page.locator("form[action$=measures] button").click()
    page.get_by_text("40 measured, 0 refused").wait_for()
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_text("The server is making report 1").first).to_be_visible()
    watched.looks_well("report-making")
    assert given_jobs.work_off(analyst.world) == ["done"]
    page.get_by_role("link", name="Report 1", exact=True).wait_for()
    watched.looks_well("report-there")
    page.get_by_role("link", name="Report 1", exact=True).click()
    page.get_by_role("heading", name="Report 1", exact=True).wait_for()
    broken = "images => images.filter(each => !each.complete || each.naturalWidth === 0).map(each => each.src)"
    page.wait_for_load_state("load")
    assert page.locator("figure img").count() >= 1
    assert page.locator("figure img").evaluate_all(broken) == []
    watched.looks_well("report-made")
    with page.expect_download() as started:
        page.get_by_role("link", name="report.html").click()
    assert started.value.suggested_filename == "finished-1-report.html"
    # Then no table is wider than the paper
    page.goto("about:blank")
    page.set_content(started.value.path().read_text())
    page.emulate_media(media="print")
    page.set_viewport_size({"width": A4, "height": A4})
    assert watched.overflow() == 0
    watched.close()


def test_an_export_is_asked_for_and_downloaded(analyst: Staff) -> None:
    given_reports.finished(analyst.world, "exported", participants=1)
    watched = analyst.open("/studies/exported/exports")
    page = watched.page
    watched.looks_well("exports-none")
    page.get_by_label("Format").select_option("Parquet")
    page.get_by_role("button", name="Make it").click()
    page.get_by_role("heading", name="The server is making an export").wait_for()
    watched.looks_well("exports-making")
    given_jobs.work_off(analyst.world)
    with page.expect_download() as started:
        page.get_by_role("button", name="Download ratings of export").click()
    assert started.value.suggested_filename == "exported-ratings.parquet"
    watched.looks_well("exports")
    watched.close()


def test_a_plan_is_asked_for_and_read(analyst: Staff) -> None:
    watched = analyst.open("/studies/running/protocol")
    page = watched.page
    page.get_by_role("link", name="Plan", exact=True).click()
    page.get_by_role("heading", name="Make a plan").wait_for()
    watched.looks_well("plans-none")
    page.get_by_label("Numbers of participants").fill("many")
    page.get_by_role("button", name="Make it").click()
    expect(page.get_by_label("Numbers of participants")).to_have_attribute("aria-invalid", "true")
    watched.looks_well("plans-wrong")
    page.get_by_label("Numbers of participants").fill("12, 24")
    page.get_by_role("button", name="Make it").click()
    page.get_by_role("heading", name="The server is making a plan").wait_for()
    watched.looks_well("plans-making")
    given_jobs.work_off(analyst.world)
    page.locator("tbody th").nth(1).wait_for()
    assert page.locator("tbody th").all_inner_texts() == ["12", "24"]
    watched.looks_well("plans")
    watched.close()


def test_checks_lead_to_what_is_wrong(analyst: Staff) -> None:
    _plant(analyst.world)
    watched = analyst.open("/studies/finished/checks")
    page = watched.page
    page.get_by_role("button", name="Check now").click()
    page.get_by_role("heading", name="The server is checking the study").wait_for()
    watched.looks_well("checks-waiting")
    given_jobs.work_off(analyst.world)
    page.get_by_role("heading", name="Doubled runs").wait_for()
    verdicts = dict(
        zip(
            page.locator("tbody th a").all_inner_texts(),
            page.locator("tbody td .state").all_inner_texts(),
            strict=False,
        )
    )
    assert verdicts["Clocks"] == "suspect"
    assert verdicts["Conditions"] == "suspect"
    assert verdicts["Doubled runs"] == "ok"
    assert page.get_by_text("its clock went +2.0 s between two estimates 60 s apart").count() == 1
    watched.looks_well("checks")
    page.goto("/studies/running/checks")
    watched.looks_well("checks-blinded")
    watched.close()
