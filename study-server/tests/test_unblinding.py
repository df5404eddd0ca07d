# SPDX-License-Identifier: GPL-2.0-or-later
"""The custodian unblinds a study for everybody, or in an emergency learns only one run's condition."""

import pytest
from sqlalchemy import select, update

import given_studies
from enrolled import SECRETS, enrol, leave
from happe_study.base.problems import Problem
from happe_study.model.audit.chain import canonical
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.rights import Role
from happe_study.model.runs import Run
from happe_study.model.studies import Slot, Study
from happe_study.model.studies import Study as StudyRow
from happe_study.results import unblinding
from happe_study.results.unblinding import Check, Order
from happe_study.study.allocation import plan, verify
from happe_study.study.sealing import open_condition, seal_condition
from happe_study.study.studies.services import protocol_of
from postgres import ON_BOTH
from world import World, fixed_secrets

REASON = "All participants have completed their runs."
LABELS = {"ondemand", "ondemand+indicator", "T-HAPPE", "O-HAPPE", "B-HAPPE"}
ORDER = Order(None, REASON, "small")


def unblind(world: World, order: Order = ORDER, secrets: str = "test") -> Check:
    with world.database.writing() as session:
        study = session.scalars(select(Study)).one()
        return unblinding.unblind(session, study, fixed_secrets(secrets), order)


@pytest.fixture
def study(world: World) -> StudyRow:
    """A study of four places. The third participant dropped out, and a fifth got the place."""
    made = given_studies.study(world, protocol=given_studies.small())
    participants = [enrol(world, made.id) for _ in range(4)]
    leave(world, participants[2])
    enrol(world, made.id)
    return made


@ON_BOTH
def test_unblinding_writes_every_condition_and_reveals_the_seed(world: World, study: StudyRow) -> None:
    check = unblind(world)
    assert check.summary() == {
        "agrees": True,
        "commitment_agrees": True,
        "other_slots": 0,
        "other_runs": [],
        "unreadable_runs": [],
        "unreadable_records": [],
        "unreadable_traces": [],
    }
    with world.database.reading() as session:
        now = session.get_one(Study, study.id)
        runs = session.scalars(select(Run)).all()
        slots = {slot.participant_id: slot.position for slot in session.scalars(select(Slot))}
    assert now.state == "unblinded"
    assert now.seed is not None
    assert now.salt is not None
    assert verify(now.commitment or "", now.seed, now.salt)
    assert len(runs) == 50
    assert {run.condition for run in runs} == LABELS
    computed = plan(protocol_of(now), now.seed, now.salt)[""]
    for run in runs:
        assert run.condition == open_condition(SECRETS.allocation, run.code, run.condition_sealed).label
        if run.participant_id in slots:
            assert run.condition == computed[slots[run.participant_id] - 1][run.position - 1].condition.label


def test_unblinding_is_on_the_record_and_happens_once(world: World, study: StudyRow) -> None:
    unblind(world)
    with pytest.raises(Problem) as refused:
        unblind(world)
    assert (refused.value.status, refused.value.kind) == (409, "not-locked")
    with world.database.reading() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "study.unblinded")).one()
        detail = session.get_one(AuditDetail, entry.number)
    assert detail.study_id == study.id
    assert (detail.detail["reason"], detail.detail["agrees"]) == (REASON, True)


@pytest.mark.parametrize(
    ("reason", "confirmation", "pointers"),
    [
        ("too short", "small", {"/reason"}),
        (" " * 20, "small", {"/reason"}),
        ("x" * 1001, "small", {"/reason"}),
        (REASON, "Small", {"/confirmation"}),
        (REASON, "", {"/confirmation"}),
        ("", "other", {"/reason", "/confirmation"}),
    ],
)
@pytest.mark.usefixtures("study")
def test_without_reason_and_confirmation_nothing_is_unblinded(
    world: World, reason: str, confirmation: str, pointers: set[str]
) -> None:
    with pytest.raises(Problem) as refused:
        unblind(world, Order(None, reason, confirmation))
    assert refused.value.status == 422
    assert {error.pointer for error in refused.value.errors} == pointers
    with world.database.reading() as session:
        assert session.scalars(select(Study.state)).one() == "locked"
        assert set(session.scalars(select(Run.condition))) == {None}


@pytest.mark.usefixtures("study")
def test_under_another_key_nothing_is_unblinded(world: World) -> None:
    with pytest.raises(Problem) as refused:
        unblind(world, secrets="another")
    assert refused.value.kind == "wrong-key"
    with world.database.reading() as session:
        assert session.scalars(select(Study.state)).one() == "locked"


def test_a_draft_has_nothing_to_unblind(world: World) -> None:
    given_studies.study(world, protocol=given_studies.small(), locked=False)
    with pytest.raises(Problem) as refused:
        unblind(world)
    assert refused.value.kind == "not-locked"


def test_a_run_under_another_condition_than_planned_is_named(world: World, study: StudyRow) -> None:
    with world.database.writing() as session:
        slot = select(Slot.participant_id).where(Slot.study_id == study.id, Slot.position == 1)
        run = session.scalars(select(Run).where(Run.participant_id.in_(slot), Run.position == 2)).one()
        mine = open_condition(SECRETS.allocation, run.code, run.condition_sealed)
        other = next(
            each for each in protocol_of(study).conditions if each not in (mine, protocol_of(study).conditions[0])
        )
        run.condition_sealed = seal_condition(SECRETS.allocation, run.code, other)
        code = run.code
    check = unblind(world)
    assert code in check.runs
    assert not check.agrees
    with world.database.reading() as session:
        assert session.scalars(select(Run.condition).where(Run.code == code)).one() == other.label


def test_seals_that_were_exchanged_are_found(world: World, study: StudyRow) -> None:
    with world.database.writing() as session:
        first, second = session.scalars(select(Run).order_by(Run.id).limit(2))
        first.condition_sealed, second.condition_sealed = second.condition_sealed, first.condition_sealed
        one, two = session.scalars(select(Slot).where(Slot.study_id == study.id).order_by(Slot.position).limit(2))
        one.plan_sealed, two.plan_sealed = two.plan_sealed, one.plan_sealed
        codes = {first.code, second.code}
    check = unblind(world)
    assert set(check.unreadable) == codes
    assert check.slots == 2
    with world.database.reading() as session:
        assert set(session.scalars(select(Run.condition).where(Run.code.in_(codes)))) == {None}


def test_a_slot_that_was_taken_away_is_found(world: World, study: StudyRow) -> None:
    with world.database.writing() as session:
        session.delete(session.scalars(select(Slot).where(Slot.study_id == study.id, Slot.position == 4)).one())
    assert unblind(world).slots == 1


def test_another_commitment_than_at_lock_is_found(world: World, study: StudyRow) -> None:
    with world.database.writing() as session:
        session.execute(update(Study).where(Study.id == study.id).values(commitment="0" * 64))
    check = unblind(world)
    assert not check.commitment
    assert not check.agrees


def test_over_http_the_custodian_unblinds_and_everybody_can_check(world: World, study: StudyRow) -> None:
    custodian = world.staff(Role.CUSTODIAN)
    address = f"/api/v1/studies/{study.name}/unblinding"
    refused = custodian.post(address, json={"reason": REASON, "confirmation": "smal"})
    assert refused.status_code == 422
    answer = custodian.post(address, json={"reason": REASON, "confirmation": "small"})
    assert answer.status_code == 200
    assert answer.get_json()["agrees"] is True
    public = world.client().get(f"/api/v1/studies/{study.name}/commitment").get_json()
    seed, salt = bytes.fromhex(public["seed"]), bytes.fromhex(public["salt"])
    assert verify(public["commitment"], seed, salt)
    assert custodian.post(address, json={"reason": REASON, "confirmation": "small"}).status_code == 409


@pytest.mark.usefixtures("study")
def test_in_an_emergency_the_custodian_alone_learns_one_condition(world: World) -> None:
    code = _a_code(world)
    address = f"/api/v1/studies/small/runs/{code}/unblinding"
    body = {"reason": "The participant feels unwell.", "confirmation": code}
    custodian = world.staff(Role.CUSTODIAN)
    answer = custodian.post(address, json=body)
    assert answer.status_code == 200
    label = answer.get_json()["condition"]
    with world.database.reading() as session:
        run = session.scalars(select(Run).where(Run.code == code)).one()
        assert label == open_condition(SECRETS.allocation, code, run.condition_sealed).label
        assert set(session.scalars(select(Run.condition))) == {None}
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "run.unblinded")).one()
        detail = session.get_one(AuditDetail, entry.number)
        assert detail.participant_id == run.participant_id
    assert (detail.detail["run"], detail.detail["reason"]) == (code, body["reason"])
    assert not any(each.encode() in canonical(detail.detail) for each in LABELS)
    again = custodian.post(address, json=body)
    assert again.get_json() == answer.get_json()
    unblind(world)
    assert custodian.post(address, json=body).status_code == 409


def _a_code(world: World) -> str:
    with world.database.reading() as session:
        code: str = session.scalars(select(Run.code).where(Run.position == 3).limit(1)).one()
        return code
