# SPDX-License-Identifier: GPL-2.0-or-later
"""The participant's pages about runs: only the participant rates and guesses a run, once, after it has ended."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

import pytest

import given_participants as people
from given_studies import small, study
from happe_study.study.runs import services as runs
from visits import Visit

if TYPE_CHECKING:
    from world import World


@pytest.fixture
def player(small_world: World) -> Visit:
    return Visit(small_world, enrolled=True)


def rates(player: Visit) -> None:
    """Let the first run end, so that the page asks for its rating."""
    laptop = people.laptop_with(player.world, player.study, player.participant)
    people.ended(player.world, people.runs_of(player.world, player.participant)[0].code, laptop)
    assert "Rate run 1 of 10" in player.sees()


def test_the_second_of_two_tabs_hears_that_it_is_rated(player: Visit) -> None:
    # Given
    rates(player)
    first = dict(player.form)
    player.sees("run")
    assert player.form["id"] != first["id"]

    # When
    player.sends("rating", rating="2")
    answer = player.browser.post("/p/rating", data=first | {"rating": "5"})

    # Then
    assert answer.status_code == HTTPStatus.CONFLICT
    assert "already rated" in answer.text
    assert people.runs_of(player.world, player.participant)[0].rating == 2


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


def test_the_guesses_offered_are_the_same_in_every_run_for_everybody(small_world: World) -> None:
    made = study(small_world, protocol=small())
    offered = set()
    for _ in range(2):
        row, token = people.participant(small_world, made)
        browser, laptop = people.browser(small_world, token), people.laptop_with(small_world, made, row)
        for run in people.runs_of(small_world, row):
            people.ended(small_world, run.code, laptop)
            page = browser.get("/p/run")
            browser.post("/p/rating", data=people.hidden(page.text) | {"rating": "3"})
            page = browser.get("/p/run")
            offered.add(page.text[page.text.index("<legend>") : page.text.index("</fieldset>")])
            browser.post("/p/guess", data=people.hidden(page.text) | {"guess": "usual"})
    assert len(offered) == 1
