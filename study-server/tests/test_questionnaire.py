# SPDX-License-Identifier: GPL-2.0-or-later
"""The server stores answers as people meant them, or tells them why it can't."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from happe_study.study.people.questionnaire import LONGEST_ANSWER, Answers, clean, echo, read
from happe_study.study.protocol.reading import Item, ItemKind

SKILL = Item(key="skill", question="How skilled are you?", kind=ItemKind.CHOICE, options=("beginner", "master"))
FIELD = Item(key="field", question="What do you study?", kind=ItemKind.TEXT)
HOURS = Item(key="hours", question="How many hours a week do you play?", kind=ItemKind.NUMBER)
WISH = Item(key="wish", question="Anything else?", kind=ItemKind.TEXT, required=False)


def test_answers_are_kept_by_their_items_keys_and_other_fields_are_passed_over() -> None:
    form = {"skill": "master", "field": "history", "hours": "12", "wish": "", "csrf_token": "x", "admin": "1"}
    assert read((SKILL, FIELD, HOURS, WISH), form) == Answers({"skill": "master", "field": "history", "hours": 12})


@pytest.mark.parametrize(("typed", "kept"), [("7", 7), ("-3", -3), ("2.5", 2.5), (" 12 ", 12), ("٣", 3), ("007", 7)])
def test_numbers_are_read_as_people_write_them(typed: str, kept: float) -> None:
    assert read((HOURS,), {"hours": typed}).kept == {"hours": kept}


@pytest.mark.parametrize(
    "typed", ["nan", "inf", "1e9", "0x1f", "1,5", "12 13", "9" * 13, "1.", "--1", "½", "\x00", "①"]
)
def test_what_is_no_number_is_said_to_be_none(typed: str) -> None:
    assert read((HOURS,), {"hours": typed}).wrong == {"hours": "Write a number, such as 12 or 3.5."}


@pytest.mark.parametrize(
    "text",
    [
        "Informatik & Ökologie",
        "علم الحاسوب",
        "计算机科学",
        "👩🏽‍💻 games",
        "<script>alert(1)</script>",
        "'; DROP TABLE runs; --",
        "{{ 7*7 }}",
    ],
)
def test_any_writing_is_kept_as_it_is(text: str) -> None:
    assert read((FIELD,), {"field": text}).kept == {"field": text}


def test_an_answer_may_be_as_long_as_the_limit_and_no_longer() -> None:
    assert read((FIELD,), {"field": "x" * LONGEST_ANSWER}).kept
    wrong = read((FIELD,), {"field": "x" * (LONGEST_ANSWER + 1)}).wrong
    assert wrong == {"field": "Please use at most 200 characters. You have written 201."}


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x7f", "\u202e", "\u2066", "\ud800", "\ufffe"])
def test_characters_that_cannot_be_shown_are_refused(character: str) -> None:
    assert set(read((FIELD,), {"field": f"a{character}b"}).wrong) == {"field"}


@pytest.mark.parametrize("typed", ["", "  ", "\n\t", None])
def test_a_required_item_must_be_answered(typed: str | None) -> None:
    form = {} if typed is None else {"field": typed, "skill": typed}
    assert read((FIELD, SKILL, WISH), form).wrong == {
        "field": "Please answer this question.",
        "skill": "Choose one of the answers.",
    }


def test_a_choice_must_be_one_of_the_options() -> None:
    assert set(read((SKILL,), {"skill": "grandmaster"}).wrong) == {"skill"}


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(max_size=10_000))
def test_what_is_shown_again_can_be_shown(text: str) -> None:
    assert len(echo(text)) <= 4000
    assert "\x00" not in echo(text)
