# SPDX-License-Identifier: GPL-2.0-or-later
"""The participant's pages: a form sent twice, late, by somebody else or in bad faith changes nothing.

Only the participant rates and guesses a run, once, after it has ended.
"""

import errno
import os
import re
import sqlite3
from http import HTTPStatus
from pathlib import Path
from typing import NoReturn

import pytest
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

import given_participants as people
from given_studies import small, study
from happe_study.study.runs import services as runs
from happe_study.study.studies.services import protocol_of
from visits import Visit, leads_to
from world import World

OWN_ITEMS = """
[questionnaire]
[[questionnaire.item]]
key = "hours"
question = "How many hours a week do you play?"
kind = "number"
required = false
"""


@pytest.fixture
def newcomer(world: World) -> Visit:
    return Visit(world, enrolled=False)


@pytest.fixture
def player(world: World) -> Visit:
    return Visit(world, enrolled=True)


def test_the_whole_way(newcomer: Visit) -> None:
    # Given
    visit, world = newcomer, newcomer.world
    protocol = protocol_of(visit.study)
    laptop = people.laptop_with(world, visit.study, visit.participant)

    # When, then
    assert "I take part of my own will." in visit.sees()
    assert leads_to(visit.sends("consent", decision="agree", on_withdrawal="deidentify")) == "/p/questionnaire"
    visit.sees()
    assert leads_to(visit.sends("questionnaire", **people.answers(protocol))) == "/p/handout"
    assert protocol.handout.text in visit.sees()
    assert leads_to(visit.sends("handout")) == "/p/run"
    for number, run in enumerate(people.runs_of(world, visit.participant), start=1):
        assert f"Run {number} of 10 comes next" in visit.sees()
        people.started(world, run.code, laptop)
        assert "is in progress" in visit.sees()
        with world.database.writing() as session:
            runs.end(session, runs.find(session, visit.study.id, run.code), people.as_device(laptop))
        assert protocol.rating.question in visit.sees()
        assert leads_to(visit.sends("rating", rating="4")) == "/p/run"
        assert protocol.guess.question.replace("'", "&#39;") in visit.sees()
        visit.sends("guess", guess="usual")
    assert "Thank you" in visit.sees()
    assert visit.participant.code in visit.sees("done")
    assert {(run.rating, run.guess) for run in people.runs_of(world, visit.participant)} == {(4, "usual")}


def test_looking_at_a_link_changes_nothing_and_sets_no_participants_cookie(newcomer: Visit) -> None:
    answer = newcomer.world.client().get(f"/p/{newcomer.token}")
    assert answer.status_code == HTTPStatus.OK
    assert "happe_participant" not in str(answer.headers.getlist("Set-Cookie"))


@pytest.mark.parametrize(
    "token", ["x", "A" * 43, "A" * 5000, "%00", "%ff%fe", "..%2f..%2fetc%2fpasswd", "😀", "<script>", "%ed%a0%80"]
)
def test_a_link_that_is_nobodys_says_so_kindly(newcomer: Visit, token: str) -> None:
    answer = newcomer.world.client().get(f"/p/{token}")
    assert answer.status_code == HTTPStatus.NOT_FOUND
    assert "Page not found" in answer.text or "does not exist" in answer.text


def test_a_browser_that_nobody_knows_is_told_to_open_the_link(newcomer: Visit) -> None:
    stranger = newcomer.world.client()
    for path in ("", "consent", "questionnaire", "handout", "run", "done", "withdraw", "consent/copy"):
        answer = stranger.get(f"/p/{path}")
        assert answer.status_code == HTTPStatus.UNAUTHORIZED
        assert "Please open your link again" in answer.text


def test_another_browser_goes_on_where_the_first_was(newcomer: Visit) -> None:
    newcomer.sees()
    newcomer.sends("consent", decision="agree", on_withdrawal="erase")
    other = people.browser(newcomer.world, newcomer.token)
    assert "About you" in other.get("/p/", follow_redirects=True).text


def test_who_declines_leaves_no_trace(newcomer: Visit) -> None:
    newcomer.sees()
    answer = newcomer.sends("consent", decision="decline")
    assert "Nothing about you was stored" in newcomer.browser.get(leads_to(answer)).text
    assert newcomer.row.state == "invited"
    assert newcomer.browser.get("/p/consent").status_code == HTTPStatus.UNAUTHORIZED


def test_who_declines_in_an_old_tab_after_agreeing_is_asked_to_withdraw(newcomer: Visit) -> None:
    newcomer.sees()
    newcomer.sends("consent", decision="agree", on_withdrawal="erase")
    assert leads_to(newcomer.sends("consent", decision="decline")) == "/p/withdraw"
    assert "About you" in newcomer.sees()


def test_consent_takes_a_choice(newcomer: Visit) -> None:
    newcomer.sees()
    answer = newcomer.sends("consent", decision="agree")
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert '<a href="#at-on_withdrawal">' in answer.text
    assert "<title>Error: " in answer.text
    assert newcomer.row.consent_us is None


def test_a_copy_of_the_consent_can_be_kept(player: Visit) -> None:
    answer = player.browser.get("/p/consent/copy")
    assert answer.mimetype == "text/plain"
    assert "attachment" in answer.headers["Content-Disposition"]
    assert player.participant.code in answer.text
    assert protocol_of(player.study).consent.text in answer.text


def test_wrong_answers_come_back_with_what_was_typed_and_why(world: World) -> None:
    # Given
    visit = Visit(world, enrolled=False, more=OWN_ITEMS)
    visit.sees()
    visit.sends("consent", decision="agree", on_withdrawal="erase")
    visit.sees()

    # When
    answer = visit.sends("questionnaire", field_of_study="<b>law</b>", hours="many", game_experience="master")

    # Then
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert 'value="&lt;b&gt;law&lt;/b&gt;"' in answer.text
    assert (
        'href="#at-computer_experience">How experienced are you with computers? Choose one of the answers.'
        in answer.text
    )
    assert 'aria-describedby="wrong-hours hint-hours"' in answer.text
    assert 'value="master" checked' in answer.text
    assert visit.row.answers is None


def test_an_answer_larger_than_any_form_is_refused_kindly(newcomer: Visit) -> None:
    newcomer.sees()
    newcomer.sends("consent", decision="agree", on_withdrawal="erase")
    newcomer.sees()
    answer = newcomer.sends("questionnaire", field_of_study="x" * (1 << 21))
    assert answer.status_code == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert "Your text is too long" in answer.text


def test_a_withdrawal_takes_the_word(player: Visit) -> None:
    # Given
    player.sees("withdraw")
    assert player.sends("withdraw", confirm="yes").status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert player.row.state == "enrolled"

    # When
    answer = player.sends("withdraw", confirm=" Withdraw ")

    # Then
    assert "has been erased" in player.browser.get(leads_to(answer)).text
    assert player.row.state == "withdrawn"
    assert player.browser.get("/p/run").status_code == HTTPStatus.UNAUTHORIZED
    assert player.world.client().get(f"/p/{player.token}").status_code == HTTPStatus.NOT_FOUND


def test_a_laptops_token_and_a_members_of_staff_are_no_links(player: Visit) -> None:
    laptop = people.laptop_with(player.world, player.study, player.participant)
    for token in (laptop.token, player.world.account()):
        assert player.world.client().get(f"/p/{token}").status_code == HTTPStatus.NOT_FOUND


def test_participants_behind_one_address_have_a_count_each(tmp_path: Path, sqlite_url: str) -> None:
    world = World(tmp_path, sqlite_url, workers=1, limits={"participant": "40 per minute"})
    within = study(world, protocol=small())
    classroom = [world.client() for _ in range(3)]
    for client in classroom:
        _row, link = people.participant(world, within)
        client.set_cookie("happe_participant", link)
    for client in classroom:
        statuses = [client.get("/p/run").status_code for _ in range(41)]
        assert (statuses[:40].count(429), statuses[40]) == (0, 429)
    world.close()


class Fails:
    """Raises an error in place of a session of the database."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __enter__(self) -> NoReturn:
        raise self.error

    def __exit__(self, *_: object) -> None:
        """Do nothing: the block never begins."""


FAULTS = (
    FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/var/lib/happe-server/server.db"),
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/var/lib/happe-server/traces"),
    OperationalError("SELECT secret FROM runs", {}, sqlite3.OperationalError("unable to open /var/lib/server.db")),
    RuntimeError("Traceback of /usr/lib/happe/runs.py, line 7"),
)
NEVER_SHOWN = re.compile(r"/var|/usr|\.db|\.py|Errno|errno|No such file|No space|Traceback|SELECT|Error\b|journal")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_no_page_shows_a_path_or_an_error_of_the_system(
    player: Visit, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests, fault: Exception
) -> None:
    routes = [
        (method, rule.rule.replace("<token>", player.token))
        for rule in player.world.app.url_map.iter_rules()
        if rule.rule.startswith("/p/")
        for method in (rule.methods or set()) & {"GET", "POST"}
    ]
    assert len(routes) > 15
    for verb in ("looking_up", "reading", "writing"):
        monkeypatch.setattr(player.world.database, verb, lambda: Fails(fault))
    failed = 0
    for method, address in routes:
        with subtests.test(f"{method} {address}"):
            with capture_logs() as logged:
                answer = player.browser.open(address, method=method, data=player.form)
            assert not NEVER_SHOWN.search(answer.text.partition("<main")[2]), answer.text
            if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                failed += 1
                assert "server has a problem" in answer.text
                assert {line["event"] for line in logged} & {"database refused", "unexpected error"}
    assert failed >= 10


def rates(player: Visit) -> None:
    """Let the first run end, so that the page asks for its rating."""
    laptop = people.laptop_with(player.world, player.study, player.participant)
    people.ended(player.world, people.runs_of(player.world, player.participant)[0].code, laptop)
    assert "Rate run 1 of 10" in player.sees()


@pytest.mark.parametrize("rating", ["", "0", "6", "2.5", "-1", "²", "\u0661", "9" * 400, "2\x00", "two"])
def test_a_rating_that_is_none_is_asked_for_again(player: Visit, rating: str) -> None:
    rates(player)
    answer = player.sends("rating", rating=rating)
    assert answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert "Choose one of the numbers." in answer.text
    assert people.runs_of(player.world, player.participant)[0].rating is None


@pytest.mark.parametrize("form_id", ["", "x", "\x00", "0" * 31])
def test_a_form_without_its_id_is_not_taken(player: Visit, form_id: str) -> None:
    rates(player)
    answer = player.sends("rating", rating="2", id=form_id)
    assert answer.status_code == HTTPStatus.CONFLICT
    assert "This page was out of date" in answer.text
    assert people.runs_of(player.world, player.participant)[0].rating is None


def test_a_run_of_somebody_else_cannot_be_rated(player: Visit) -> None:
    # Given
    other, _token = people.participant(player.world, player.study)
    theirs = people.runs_of(player.world, other)[0].code
    people.ended(player.world, theirs, people.laptop_with(player.world, player.study, other))
    rates(player)

    # When, then
    for code in (theirs, "00000000", "", "' OR 1=1", "\x00" * 8, "x" * 5000):
        assert player.sends("rating", rating="1", run=code).status_code == HTTPStatus.NOT_FOUND
    assert people.runs_of(player.world, other)[0].rating is None


def test_a_form_without_its_token_is_not_taken(player: Visit) -> None:
    rates(player)
    for token in (None, "", "x", "IjEi.x.y"):
        form = {name: text for name, text in player.form.items() if name != "csrf_token"}
        form |= {"rating": "2"} | ({"csrf_token": token} if token is not None else {})
        answer = player.browser.post("/p/rating", data=form)
        assert answer.status_code == HTTPStatus.BAD_REQUEST
        assert "This page has expired" in answer.text
    assert people.runs_of(player.world, player.participant)[0].rating is None


def test_reloading_where_a_form_was_leads_back(player: Visit) -> None:
    rates(player)
    for path in ("rating", "guess"):
        assert player.browser.get(f"/p/{path}", follow_redirects=True).request.path == "/p/run"


def test_a_page_that_waits_reloads_by_itself_only_when_it_is_asked_to(player: Visit) -> None:
    assert "Refresh" not in player.browser.get("/p/run").headers
    assert player.browser.get("/p/run?watch=1").headers["Refresh"] == "10; url=/p/run?watch=1"
    rates(player)
    assert "Refresh" not in player.browser.get("/p/run?watch=1").headers


def test_an_aborted_run_is_explained_and_its_next_attempt_comes(player: Visit) -> None:
    rates(player)
    code = people.runs_of(player.world, player.participant)[0].code
    with player.world.database.writing() as session:
        runs.abort(session, runs.find(session, player.study.id, code), "noise", None)
    assert "This is not your fault" in player.sees()
    assert player.sends("rating", rating="2").status_code == HTTPStatus.CONFLICT


def test_the_guesses_offered_are_the_same_in_every_run_for_everybody(world: World) -> None:
    made = study(world, protocol=small())
    offered = set()
    for _ in range(2):
        row, token = people.participant(world, made)
        browser, laptop = people.browser(world, token), people.laptop_with(world, made, row)
        for run in people.runs_of(world, row):
            people.ended(world, run.code, laptop)
            page = browser.get("/p/run")
            browser.post("/p/rating", data=people.hidden(page.text) | {"rating": "3"})
            page = browser.get("/p/run")
            offered.add(page.text[page.text.index("<legend>") : page.text.index("</fieldset>")])
            browser.post("/p/guess", data=people.hidden(page.text) | {"guess": "usual"})
    assert len(offered) == 1
