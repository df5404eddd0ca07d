# SPDX-License-Identifier: GPL-2.0-or-later
"""Over HTTP, staff invite participants, see their progress, replace and withdraw them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

import given_participants as people
from given_studies import small, study
from happe_study.model.rights import Role

if TYPE_CHECKING:
    from flask.testing import FlaskClient

    from happe_study.model.studies import Study
    from world import World

HERE = "/api/v1/studies/small/participants"


@pytest.fixture
def made(small_world: World) -> Study:
    return study(small_world, protocol=small())


@pytest.fixture
def experimenter(small_world: World, made: Study) -> FlaskClient:
    return small_world.staff(Role.EXPERIMENTER, study_id=made.id)


def test_an_invitation_is_a_link_that_works(small_world: World, experimenter: FlaskClient) -> None:
    answer = experimenter.post(HERE, json={"count": 3})
    assert answer.status_code == 201
    invited = answer.get_json()["participants"]
    assert len({one["code"] for one in invited}) == len({one["link"] for one in invited}) == 3
    page = small_world.client().get(urlsplit(invited[0]["link"]).path)
    assert invited[0]["code"] in page.text


def test_pages_of_a_list_have_each_participant_once_in_the_order_of_codes(experimenter: FlaskClient) -> None:
    # Given
    codes = [one["code"] for one in experimenter.post(HERE, json={"count": 7}).get_json()["participants"]]

    # When
    seen: list[str] = []
    page = experimenter.get(f"{HERE}?limit=3").get_json()
    seen += [one["code"] for one in page["participants"]]
    while page["next"]:
        page = experimenter.get(HERE, query_string={"limit": 3, "cursor": page["next"]}).get_json()
        seen += [one["code"] for one in page["participants"]]

    # Then
    assert seen == sorted(codes)


def test_a_list_can_be_of_one_state(small_world: World, made: Study, experimenter: FlaskClient) -> None:
    enrolled, _ = people.participant(small_world, made)
    people.participant(small_world, made, enrolled=False)
    listed = experimenter.get(f"{HERE}?state=enrolled").get_json()["participants"]
    assert [(one["code"], one["state"]) for one in listed] == [(enrolled.code, "enrolled")]
    assert experimenter.get(f"{HERE}?state=happy").status_code == 422


def test_a_participants_page_counts_runs_and_holds_no_answer(
    small_world: World, made: Study, experimenter: FlaskClient
) -> None:
    # Given
    row, token = people.participant(small_world, made)
    laptop = people.laptop_with(small_world, made, row)
    people.completed(small_world, people.runs_of(small_world, row)[0].code, laptop)

    # When
    answer = experimenter.get(f"{HERE}/{row.code}")

    # Then
    assert (answer.get_json()["runs"], answer.get_json()["complete"], answer.get_json()["state"]) == (10, 1, "enrolled")
    assert "history" not in answer.text
    assert token not in answer.text


def test_a_drop_out_is_replaced_for_a_reason(small_world: World, made: Study, experimenter: FlaskClient) -> None:
    row, _ = people.participant(small_world, made)
    where = f"{HERE}/{row.code}/replacement"
    for reason in ("", "   ", "a\x00b", 7, None, "x" * 501):
        assert experimenter.post(where, json={"reason": reason}).status_code in (400, 422)
    for _ in range(2):
        assert experimenter.post(where, json={"reason": "ill"}).get_json()["state"] == "replaced"


def test_a_withdrawal_asks_for_the_code_once_more(small_world: World, made: Study, experimenter: FlaskClient) -> None:
    row, token = people.participant(small_world, made, choice="erase")
    where = f"{HERE}/{row.code}/withdrawal"
    assert experimenter.post(where, json={"confirm": "yes"}).status_code == 422
    assert experimenter.post(where, json={"confirm": row.code}).status_code == 204
    assert people.now(small_world, row).state == "withdrawn"
    assert small_world.client().get(f"/p/{token}").status_code == 404


def test_nobody_is_told_the_new_code_of_data_that_are_kept(
    small_world: World, made: Study, experimenter: FlaskClient
) -> None:
    row, _ = people.participant(small_world, made, choice="deidentify")
    answer = experimenter.post(f"{HERE}/{row.code}/withdrawal", json={"confirm": row.code})
    new = people.now(small_world, row).code
    assert new != row.code
    assert new not in answer.text + str(answer.headers)
    assert experimenter.get(f"{HERE}/{row.code}").status_code == 404
