# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants come by a link, answer once, and leave with their data treated as they chose."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

import given_participants as people
from given_studies import small, study
from happe_study.base import codes
from happe_study.base.problems import Problem
from happe_study.model.accounts import Token
from happe_study.model.participants import Participant
from happe_study.model.studies import Slot, Study
from happe_study.results.withdrawal import services as withdrawal
from happe_study.study.people import callers
from happe_study.study.runs import participation as services
from happe_study.study.runs import services as runs
from happe_study.study.studies.services import protocol_of
from postgres import ON_BOTH
from world import World, fixed_secrets

STRATA = """
[strata]
by = "game_experience"
quota = { beginner = 4, moderate = 0, master = 0 }
"""


def does(world: World, row: Participant, act: Callable[[Session, Participant], object]) -> object:
    """Do something with a participant, in a transaction."""
    with world.database.writing() as session:
        return act(session, session.get_one(Participant, row.id))


def refused(world: World, row: Participant, act: Callable[[Session, Participant], object]) -> str:
    """Do it, and return the kind of the problem."""
    with pytest.raises(Problem) as caught:
        does(world, row, act)
    return caught.value.kind


def consent(version: str = "1", choice: str = "erase") -> Callable[[Session, Participant], object]:
    return lambda session, row: services.consent(session, row.id, version, choice, people.as_participant(row))


def answer(form: dict[str, str]) -> Callable[[Session, Participant], object]:
    return lambda session, row: services.answer(session, row.id, form, fixed_secrets(), people.as_participant(row))


def withdraw(session: Session, row: Participant) -> object:
    return withdrawal.withdraw(session, row, fixed_secrets(), people.as_participant(row))


def replace(session: Session, row: Participant) -> None:
    services.replace(session, row, "never came back", None)


def slot_of(world: World, row: Participant) -> int | None:
    """The position of the participant's slot."""
    with world.database.reading() as session:
        found: int | None = session.scalar(select(Slot.position).where(Slot.participant_id == row.id))
        return found


def answers_of(row: Participant, world: World) -> dict[str, str]:
    with world.database.reading() as session:
        return people.answers(protocol_of(session.get_one(Study, row.study_id)))


def test_nobody_is_invited_before_the_study_is_locked(world: World) -> None:
    with pytest.raises(Problem, match="not locked"):
        people.participant(world, study(world, protocol=small(), locked=False))


def test_an_invitation_has_a_code_and_a_token_that_the_database_has_only_the_digest_of(world: World) -> None:
    row, token = people.participant(world, study(world, protocol=small()), enrolled=False)
    assert codes.is_code(row.code)
    with world.database.reading() as session:
        assert list(session.scalars(select(Token.sha256))) == [codes.digest(token)]
        found = callers.caller_of(session, token)
    assert found
    assert (found.id, found.name) == (row.id, row.code)


def test_a_code_that_is_taken_is_made_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given
    made = study(world, protocol=small())
    first, _ = people.participant(world, made, enrolled=False)
    drawn = iter([first.code, first.code, "ZZZZZZZZ"])
    monkeypatch.setattr("happe_study.base.fresh.new_code", lambda: next(drawn))

    # When
    second, _ = people.participant(world, made, enrolled=False)

    # Then
    assert second.code == "ZZZZZZZZ"


def test_consent_is_to_the_text_and_a_choice_of_the_protocol(world: World) -> None:
    row, _ = people.participant(world, study(world, protocol=small()), enrolled=False)
    assert refused(world, row, consent(version="2")) == "invalid"
    assert refused(world, row, consent(choice="sell")) == "invalid"


def test_answers_enrol_once_however_often_they_are_sent(world: World) -> None:
    # Given
    row, _ = people.participant(world, study(world, protocol=small()), enrolled=False)
    form = answers_of(row, world)
    assert refused(world, row, answer(form)) == "answered"
    does(world, row, consent())

    # When
    does(world, row, answer(form))
    does(world, row, answer(form))

    # Then
    assert refused(world, row, answer(form | {"field_of_study": "law"})) == "answered"
    assert len(people.runs_of(world, row)) == 10
    assert people.now(world, row).answers == form


def test_missing_answers_are_named_and_nothing_is_stored(world: World) -> None:
    row, _ = people.participant(world, study(world, protocol=small()), enrolled=False)
    does(world, row, consent())
    with pytest.raises(Problem) as caught:
        does(world, row, answer({"field_of_study": "law"}))
    assert [error.pointer for error in caught.value.errors] == ["computer_experience", "game_experience"]
    assert people.now(world, row).state == "consented"
    assert people.now(world, row).answers is None


def test_who_finds_no_place_is_told_so_and_their_answers_are_not_kept(world: World) -> None:
    row, _ = people.participant(world, study(world, protocol=small() + STRATA), enrolled=False)
    does(world, row, consent())
    assert refused(world, row, answer(answers_of(row, world) | {"game_experience": "master"})) == "full"
    assert people.now(world, row).answers is None
    does(world, row, answer(answers_of(row, world)))
    assert people.now(world, row).stratum == "beginner"


def test_the_place_of_a_drop_out_goes_to_the_next(world: World) -> None:
    # Given
    made = study(world, protocol=small())
    gone, token = people.participant(world, made)
    place = slot_of(world, gone)
    laptop = people.laptop_with(world, made, gone)
    people.started(world, people.runs_of(world, gone)[0].code, laptop)

    # When
    does(world, gone, replace)
    does(world, gone, replace)
    heir, _ = people.participant(world, made)

    # Then
    assert slot_of(world, gone) is None
    assert slot_of(world, heir) == place
    assert people.now(world, gone).answers is not None
    assert people.runs_of(world, gone)[0].state == "aborted"
    with world.database.reading() as session:
        assert callers.caller_of(session, token) is None
    with pytest.raises(Problem, match="takes no part"):
        people.started(world, people.runs_of(world, gone)[0].code, laptop)


def test_who_is_done_is_not_replaced_but_may_withdraw(world: World) -> None:
    made = study(world, protocol=small())
    row, _ = people.participant(world, made, choice="deidentify")
    laptop = people.laptop_with(world, made, row)
    for run in people.runs_of(world, row):
        people.completed(world, run.code, laptop)
    assert refused(world, row, replace) == "participant-state"
    place = slot_of(world, row)

    assert does(world, row, withdraw) == "deidentify"

    assert slot_of(world, row) == place
    assert people.now(world, row).code != row.code


def test_who_has_not_agreed_yet_may_withdraw_too(world: World) -> None:
    row, _ = people.participant(world, study(world, protocol=small()), enrolled=False)
    assert does(world, row, withdraw) == "erase"
    assert people.now(world, row).state == "withdrawn"


def test_the_handout_comes_after_the_questionnaire(world: World) -> None:
    row, _ = people.participant(world, study(world, protocol=small()), enrolled=False)
    assert refused(world, row, lambda session, one: services.read_handout(session, one.id, None)) == "not-enrolled"


def at_once(count: int, act: Callable[[int], object]) -> list[object]:
    """The result of each of `count` threads: a value, or the kind of its problem."""

    def one(number: int) -> object:
        try:
            return act(number)
        except Problem as problem:
            return problem.kind

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


@ON_BOTH
def test_one_of_many_ratings_at_once_counts(world: World) -> None:
    # Given
    made = study(world, protocol=small())
    row, _ = people.participant(world, made)
    code = people.runs_of(world, row)[0].code
    people.ended(world, code, people.laptop_with(world, made, row))

    def rate(number: int) -> int:
        with world.database.writing() as session:
            run = runs.find_own(session, row.id, code)
            runs.rate(session, run, str(uuid4()), number + 1, people.as_participant(row))
            return number + 1

    # When
    got = at_once(5, rate)

    # Then
    stored = people.runs_of(world, row)[0].rating
    assert sorted(map(str, got)) == sorted(["rated"] * 4 + [str(stored)])


@ON_BOTH
def test_many_replacements_at_once_make_one_attempt(world: World) -> None:
    # Given
    made = study(world, protocol=small())
    row, _ = people.participant(world, made)
    code = people.runs_of(world, row)[0].code
    people.started(world, code, people.laptop_with(world, made, row))
    with world.database.writing() as session:
        runs.abort(session, runs.find(session, made.id, code), "noise", None)

    def replace_run(_number: int) -> str:
        with world.database.writing() as session:
            return runs.replace(session, runs.find(session, made.id, code), fixed_secrets(), None).code

    # When
    got = at_once(5, replace_run)

    # Then
    assert len(set(got)) == 1
    assert len(people.runs_of(world, row)) == 11


@ON_BOTH
def test_the_same_answers_from_many_tabs_at_once_enrol_once(world: World) -> None:
    made = study(world, protocol=small())
    row, _ = people.participant(world, made, enrolled=False)
    does(world, row, consent())
    form = answers_of(row, world)
    told = at_once(5, lambda _number: does(world, row, answer(form)))
    assert [each.state for each in told if isinstance(each, Participant)] == ["enrolled"] * 5
    assert len(people.runs_of(world, row)) == 10
