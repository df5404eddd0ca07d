# SPDX-License-Identifier: GPL-2.0-or-later
"""Each participant gets their own slot, however many come at once. Those who complete are exactly balanced."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

import given_studies
from enrolled import SECRETS, enrol, leave, sequences
from happe_study.base.problems import Problem
from happe_study.model.participants import Participant
from happe_study.model.runs import Run
from happe_study.model.studies import Slot, Study
from happe_study.study.runs import planning
from happe_study.study.sealing import open_condition, open_slot
from happe_study.study.studies.services import protocol_of
from postgres import ON_BOTH
from world import World

EVERYBODY = 200
STRATA = """
[strata]
by = "game_experience"
quota = { beginner = 4, moderate = 8, master = 0 }
"""


def all_at_once(count: int, act: Callable[[int], int | None]) -> list[int | None]:
    """The results of a function for 0, 1, ... Each call has a thread, and all threads start together."""
    ready = threading.Barrier(count)

    def wait_and_act(number: int) -> int | None:
        ready.wait()
        return act(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(wait_and_act, range(count)))


def exactly_balanced(world: World, participants: Sequence[int | None]) -> bool:
    """Whether each of the four sequences occurs equally often in both applications."""
    with world.database.reading() as session:
        counts = sequences(session, [each for each in participants if each is not None])
    return len(counts) == 2 * 4 and set(counts.values()) == {EVERYBODY // 4}


def try_to_enrol(world: World, study_id: int) -> int | None:
    """Enrol a participant, and return their id; None if every slot is taken."""
    try:
        return enrol(world, study_id)
    except Problem as problem:
        if problem.kind != "full":
            raise
        return None


@ON_BOTH
def test_two_hundred_who_enrol_at_once_are_exactly_balanced(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small(participants=EVERYBODY))
    participants = all_at_once(EVERYBODY, lambda _number: enrol(world, study.id))
    with world.database.reading() as session:
        taken = session.scalars(select(Slot.participant_id)).all()
        codes = session.scalar(select(func.count(Run.code.distinct())))
    assert sorted(map(str, taken)) == sorted(map(str, participants))
    assert codes == EVERYBODY * 10
    assert exactly_balanced(world, participants)
    assert try_to_enrol(world, study.id) is None


@ON_BOTH
def test_drop_outs_are_replaced_while_others_enrol(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small(participants=EVERYBODY))
    early = [enrol(world, study.id) for _ in range(EVERYBODY // 2)]
    gone, stayed = early[::4], [each for number, each in enumerate(early) if number % 4]

    def act(number: int) -> int | None:
        if number < len(gone):
            leave(world, gone[number])
            return None
        return enrol(world, study.id)

    later = all_at_once(EVERYBODY // 2 + len(gone), act)
    rest = [enrol(world, study.id) for _ in range(EVERYBODY - len(stayed) - len(later) + len(gone))]
    assert exactly_balanced(world, [*stayed, *later, *rest])
    assert try_to_enrol(world, study.id) is None


def test_who_follows_a_drop_out_has_the_same_order_under_other_codes(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    participants = [enrol(world, study.id) for _ in range(4)]
    leave(world, participants[2])
    follower = enrol(world, study.id)
    with world.database.reading() as session:
        assert sequences(session, [follower]) == sequences(session, [participants[2]])
        codes = session.scalars(select(Run.code).where(Run.participant_id.in_([follower, participants[2]]))).all()
    assert len(set(codes)) == 20


def test_each_stratum_has_slots_of_its_own(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small(participants=12) + STRATA)
    for _ in range(4):
        enrol(world, study.id, "beginner")
    for stratum in ("beginner", "master", None):
        with pytest.raises(Problem) as full:
            enrol(world, study.id, stratum)
        assert full.value.kind == "full"
    enrol(world, study.id, "moderate")
    with world.database.reading() as session:
        taken = select(Slot.stratum, func.count(Slot.participant_id)).group_by(Slot.stratum).order_by(Slot.stratum)
        assert [tuple(row) for row in session.execute(taken)] == [("beginner", 4), ("moderate", 1)]


def test_runs_are_those_of_the_slot_and_no_condition_is_written_down(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    participant = enrol(world, study.id)
    with world.database.reading() as session:
        slot = session.scalars(select(Slot).where(Slot.participant_id == participant)).one()
        planned = open_slot(SECRETS.allocation, (study.name, slot.stratum, slot.position), slot.plan_sealed)
        runs = session.scalars(select(Run).order_by(Run.position)).all()
        assert session.get_one(Participant, participant).state == "enrolled"
    opened = [open_condition(SECRETS.allocation, run.code, run.condition_sealed) for run in runs]
    assert [(run.position, run.application, run.phase) for run in runs] == [
        (run.position, run.application, run.phase) for run in planned
    ]
    assert opened == [run.condition for run in planned]
    assert [run.seconds for run in runs] == [{"torcs": 120, "glest": 90}[run.application] for run in runs]
    assert {run.condition for run in runs} == {None}
    assert len({len(run.condition_sealed) for run in runs}) == 1


@pytest.mark.parametrize("state", ["draft", "unblinded"])
def test_only_a_locked_study_enrols(world: World, state: str) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    with world.database.writing() as session:
        session.get_one(Study, study.id).state = state
    with pytest.raises(Problem) as refused:
        enrol(world, study.id)
    assert refused.value.kind == "not-open"


def test_nobody_gets_two_slots(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    participant_id = enrol(world, study.id)
    with world.database.writing() as session:
        participant = session.get_one(Participant, participant_id)
        with pytest.raises(Problem) as refused:
            planning.enrol(session, participant, study, protocol_of(study), SECRETS)
    assert refused.value.kind == "enrolled"
