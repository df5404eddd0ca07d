# SPDX-License-Identifier: GPL-2.0-or-later
"""The participant's pages in Chromium: accessible in every state, by keyboard alone, large, narrow and dark."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import given_participants as people
from given_studies import study, text
from happe_study.model.participants import Participant
from happe_study.study.runs import services as runs
from happe_study.web.participant import runs as run_pages
from serve import Watched, WorldServer
from world import World, fixed_secrets, sqlite_copy

OWN_ITEMS = """
[[questionnaire.item]]
key = "hours"
question = "How many hours a week do you play computer games?"
kind = "number"
required = false
[[questionnaire.item]]
key = "laptop"
question = "Which of these do you use most?"
kind = "choice"
options = ["A laptop", "A desktop", "A tablet", "A telephone", "A games console", "A television", "Glasses", "None"]
"""


class Lab:
    """A study on a port, and an invited participant."""

    def __init__(self, world: World, server: WorldServer) -> None:
        """Invite the participant."""
        self.world, self.server = world, server
        protocol = text("crossover").replace("\n[rating]", OWN_ITEMS + "\n[rating]", 1)
        assert protocol.count("questionnaire.item") == 2
        self.study = study(world, protocol=protocol)
        self.participant, self.token = people.participant(world, self.study, enrolled=False)
        self.laptop = people.laptop_with(world, self.study, self.participant)

    def first(self) -> str:
        """The code of the present attempt at the first run."""
        attempts = [run for run in people.runs_of(self.world, self.participant) if run.position == 1]
        return attempts[-1].code

    def start(self) -> None:
        """The laptop starts the first run."""
        people.started(self.world, self.first(), self.laptop)

    def end(self) -> None:
        """The first run ends."""
        with self.world.database.writing() as session:
            runs.end(session, runs.find(session, self.study.id, self.first()), people.as_device(self.laptop))

    def abort(self) -> None:
        """Abort the first run."""
        with self.world.database.writing() as session:
            runs.abort(session, runs.find(session, self.study.id, self.first()), "noise", None)

    def replace(self) -> None:
        """Plan the first run again."""
        with self.world.database.writing() as session:
            runs.replace(session, runs.find(session, self.study.id, self.first()), fixed_secrets(), None)

    def finish(self) -> None:
        """Complete all remaining runs."""
        for run in people.runs_of(self.world, self.participant):
            if run.state == "planned":
                people.completed(self.world, run.code, self.laptop)


@pytest.fixture(scope="module")
def lab_on_a_port(server: WorldServer) -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_pages, "WATCH_SECONDS", 3600)  # no page reloads while the test looks at it
        yield Lab(server.world, server)


def test_a_german_page_is_accessible_and_its_language_can_be_switched(lab_on_a_port: Lab, browser: Browser) -> None:
    window = Watched(browser, lab_on_a_port.server.url)
    _row, token = people.participant(lab_on_a_port.world, lab_on_a_port.study, enrolled=False)
    window.page.goto(f"/p/{token}")
    press(window.page, "Deutsch")
    assert window.axe() == []
    press(window.page, "Beginnen")
    assert window.page.locator("html").get_attribute("lang") == "de"
    assert window.axe() == []
    assert window.overflow() == 0
    press(window.page, "English")
    assert window.page.locator("html").get_attribute("lang") == "en"
    assert window.wrong == []
    window.close()


def press(page: Page, name: str) -> None:
    """Press a button or follow a link, and wait for the next page."""
    with page.expect_navigation():
        page.get_by_role("button", name=name).or_(page.get_by_role("link", name=name)).first.click()


def tour(lab: Lab, page: Page) -> Iterator[str]:
    """Every state of every page, by name, in the order in which a participant meets them."""
    page.goto("/p/consent")
    yield "unknown"
    page.goto("/p/nosuchlink")
    yield "no-link"
    page.goto(f"/p/{lab.token}")
    yield "link"
    press(page, "Begin")
    yield "consent"
    press(page, "I agree and take part")
    yield "consent-wrong"
    page.get_by_label("Erase it.").check()
    press(page, "I agree and take part")
    yield "questionnaire"
    page.get_by_label("How many hours a week").fill("quite many")
    press(page, "Send my answers")
    yield "questionnaire-wrong"
    other = open_others_link(lab, page)
    answer_questions(page)
    yield "another-person"
    assert people.now(lab.world, other).answers is None
    page.goto(f"/p/{lab.token}")
    press(page, "Continue")
    answer_questions(page)
    yield "handout"
    press(page, "I have read the instructions")
    yield "waits"
    page.goto("/p/consent")
    yield "consent-given"
    yield from tour_of_runs(lab, page)


def open_others_link(lab: Lab, page: Page) -> Participant:
    """Open another participant's link in a second tab, up to the questionnaire."""
    other, token = people.participant(lab.world, lab.study, enrolled=False)
    tab = page.context.new_page()
    tab.goto(f"/p/{token}")
    press(tab, "Begin")
    tab.get_by_label("Erase it.").check()
    press(tab, "I agree and take part")
    tab.close()
    return other


def answer_questions(page: Page) -> None:
    """Answer the questionnaire."""
    page.get_by_role("group", name="computers?").get_by_label("Moderate").check()
    page.get_by_role("group", name="games?").get_by_label("Master").check()
    page.get_by_label("What is your field of study or work?").fill("Geschichte, علم الحاسوب")
    page.get_by_label("How many hours a week").fill("6.5")
    page.get_by_label("Which of these do you use most?").select_option("A tablet")
    press(page, "Send my answers")


def tour_of_runs(lab: Lab, page: Page) -> Iterator[str]:
    """The states of the pages about runs, and the last ones."""
    lab.start()
    page.goto("/p/run?watch=1")
    yield "plays"
    lab.abort()
    page.goto("/p/run")
    yield "stopped"
    lab.replace()
    lab.start()
    lab.end()
    page.goto("/p/run")
    yield "rating"
    press(page, "Send my rating")
    yield "rating-wrong"
    page.get_by_label("4").check()
    press(page, "Send my rating")
    yield "guess"
    page.get_by_label("I don't know").check()
    page.evaluate("document.querySelector('input[name=id]').value = 'x'")
    press(page, "Send my guess")
    yield "stale"
    press(page, "Continue where you left off")
    page.get_by_label("I don't know").check()
    press(page, "Send my guess")
    lab.finish()
    page.goto("/p/")
    yield "done"
    page.goto("/p/withdraw")
    yield "withdraw"
    press(page, "Withdraw permanently")
    yield "withdraw-wrong"
    page.get_by_label("type the word").fill("withdraw")
    press(page, "Withdraw permanently")
    yield "goodbye"


def test_every_page_is_accessible_in_every_state(lab_on_a_port: Lab, browser: Browser) -> None:
    window = Watched(browser, lab_on_a_port.server.url)
    titles = []
    for name in tour(lab_on_a_port, window.page):
        if name == "questionnaire-wrong":
            _what_is_wrong_has_the_focus_and_leads_to_its_field(window.page)
        window.looks_well(f"participant-{name}")
        titles.append(window.page.title())
        assert titles[-1].startswith("Error: ") == name.endswith("-wrong"), name
        assert window.page.locator("html").get_attribute("lang") == "en", name
    assert len(titles) >= 20
    assert len(set(titles)) >= len(titles) - 4  # some states share a page
    window.close()


def _what_is_wrong_has_the_focus_and_leads_to_its_field(page: Page) -> None:
    page.wait_for_function("document.activeElement !== document.body")  # the browser focuses when it first draws
    assert str(page.evaluate(FOCUSED)).startswith("There is a problem")
    tab_to(page, "What is your field of study or work? Please answer")
    page.keyboard.press("Enter")
    assert str(page.evaluate(FOCUSED)).startswith("What is your field of study or work?")


FOCUSED = """() => {
    const one = document.activeElement;
    const label = one.labels && one.labels[0] && one.labels[0].innerText;
    return (label || one.innerText || '').trim();
}"""
MOST_TABS = 60


def tab_to(page: Page, name: str) -> None:
    """Press Tab until the element with this name has the focus, and check that it is visible."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if str(page.evaluate(FOCUSED)).startswith(name):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", f"the focus on {name!r} can't be seen"
            return
    pytest.fail(f"Tab never reaches {name!r}")


def by_keys(page: Page, *steps: tuple[str, str]) -> None:
    """For each step, tab to an element and press a key there."""
    for name, key in steps:
        tab_to(page, name)
        page.keyboard.press(key)


def leads_on(page: Page, name: str, key: str = "Enter") -> None:
    """Tab to an element, press a key there, and wait for the next page."""
    tab_to(page, name)
    with page.expect_navigation():
        page.keyboard.press(key)


def test_keys_alone_lead_through_everything(sqlite_template: Path, tmp_path: Path, browser: Browser) -> None:
    # Given
    world = World(tmp_path, sqlite_copy(sqlite_template, tmp_path))
    with WorldServer(world) as server:
        lab = Lab(world, server)
        window = Watched(browser, server.url)
        page = window.page
        page.goto(f"/p/{lab.token}")

        # When
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUSED) == "Skip to the content"
        page.keyboard.press("Enter")
        leads_on(page, "Begin")
        by_keys(page, ("Erase it.", "ArrowDown"))
        leads_on(page, "I agree and take part")
        by_keys(page, ("Beginner", "ArrowDown"), ("Beginner", "Space"), ("What is your field", "l"))
        page.keyboard.type("aw")
        by_keys(page, ("Which of these", "ArrowDown"))
        leads_on(page, "Send my answers", "Space")
        leads_on(page, "I have read the instructions")
        lab.start()
        lab.end()
        leads_on(page, "Check again")
        by_keys(page, ("1", "ArrowRight"))
        leads_on(page, "Send my rating")
        by_keys(page, ("The computer's usual control", "ArrowDown"))
        leads_on(page, "Send my guess")

        # Then
        run = people.runs_of(world, lab.participant)[0]
        row = people.now(world, lab.participant)
        assert row.on_withdrawal == "deidentify"
        assert row.answers
        assert row.answers["computer_experience"] == "moderate"
        assert (row.answers["field_of_study"], row.answers["laptop"]) == ("law", "A laptop")
        assert (run.rating, run.guess) == (2, "learning")
        assert window.wrong == []
        window.close()
    world.close()
