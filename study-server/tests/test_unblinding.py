# SPDX-License-Identifier: GPL-2.0-or-later
"""Unblinding: the conditions as planned, on the record, by somebody who may.

A custodian who got the role or a password after the study's lock must wait, and everybody can see it.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update

import given_accounts
import given_participants as people
import given_power
import given_reports
import given_studies
import given_traces
from enrolled import SECRETS, enrol, leave
from given_accounts import PASSWORD, browser, post
from given_jobs import work_off
from happe_study.base.clock import now_us
from happe_study.base.problems import Problem
from happe_study.model.accounts import Account, Grant
from happe_study.model.audit.chain import canonical
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.jobs import services as jobs
from happe_study.model.rights import Role
from happe_study.model.runs import Run
from happe_study.model.studies import Slot, Study
from happe_study.model.studies import Study as StudyRow
from happe_study.model.traces import Trace
from happe_study.results import unblinding
from happe_study.results.gate import unfinished
from happe_study.results.unblinding import Check, Order
from happe_study.study.allocation import plan, verify
from happe_study.study.checks.services import CHECKS
from happe_study.study.people import accounts
from happe_study.study.sealing import open_condition, seal_condition
from happe_study.study.studies import custodians
from happe_study.study.studies.services import protocol_of
from postgres import ON_BOTH
from world import World, fixed_secrets

REASON = "All participants have completed their runs."
LABELS = {"ondemand", "ondemand+indicator", "T-HAPPE", "O-HAPPE", "B-HAPPE"}
OVERRIDE = "Nobody else took part."
ORDER = Order(None, REASON, "small", OVERRIDE)


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
        "unfinished": ["4 participants are not done: 4 enrolled.", "40 of 40 runs are not complete: 40 planned."],
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
    assert (detail.detail["override"], len(detail.detail["unfinished"])) == (OVERRIDE, 2)


@pytest.mark.usefixtures("study")
def test_an_unfinished_study_needs_a_reason_of_its_own(world: World) -> None:
    for override, status in (("", 409), ("x", 422), (" " * 20, 422)):
        with pytest.raises(Problem) as refused:
            unblind(world, Order(None, REASON, "small", override))
        assert (refused.value.status, {error.pointer for error in refused.value.errors}) == (status, {"/override"})
    assert not is_unblinded(world)


UNCHECKED = "Nobody has checked the data since the last run was completed."


def checked(world: World, study: Study) -> None:
    """Let a worker check the study, as an experimenter asks for it."""
    with world.database.writing() as session:
        jobs.ask(session, CHECKS, "an experimenter", study.id, conditions=False)
    work_off(world)


def lacks(world: World) -> list[str]:
    """What the only study lacks."""
    with world.database.reading() as session:
        return unfinished(session, session.scalars(select(Study)).one())


def test_a_finished_study_needs_none(world: World) -> None:
    study = given_reports.finished(world, unblinded=False)
    assert lacks(world) == [UNCHECKED]
    checked(world, study)
    assert lacks(world) == []
    unblind(world, Order(None, REASON, study.name, "Not needed, and not kept."))
    assert [detail["override"] for detail in world.details("study.unblinded")] == [""]


def test_each_lack_is_counted(world: World) -> None:
    run = given_power.measured_run(world, seconds=10, rate_hz=1000, unblinded=False)
    free, waiting = "3 of 4 places are free.", "1 participant is not done: 1 enrolled."
    played = [free, waiting, "9 of 10 runs are not complete: 9 planned."]
    assert lacks(world) == [*played, "1 complete run has no power trace.", UNCHECKED]
    begin_us = given_power.SERVER_US
    with world.database.writing() as session:
        study = session.scalars(select(Study)).one()
        session.execute(update(Run).where(Run.code == run.code).values(started_us=begin_us, ended_us=begin_us + 10**7))
        session.execute(update(Trace).values(sealed_us=None))
    unsealed = "1 power trace is not sealed: a meter may still hold parts."
    assert lacks(world) == [*played, unsealed, UNCHECKED]
    given_traces.path_of(world, run.trace, 0).unlink()
    checked(world, study)
    faults = "The check of power traces found 1 fault."
    assert lacks(world) == [*played, unsealed, faults]
    with world.database.writing() as session:
        session.execute(update(Run).where(Run.code == run.code).values(state="rated", record_us=None))
    rated = "10 of 10 runs are not complete: 9 planned, 1 rated."
    assert lacks(world) == [free, waiting, rated, "1 rated run lacks its record.", unsealed, faults]


@pytest.mark.parametrize(
    ("reason", "confirmation", "pointers"),
    [
        ("too short", "small", {"/reason"}),
        (" " * 20, "small", {"/reason"}),
        ("x" * 1001, "small", {"/reason"}),
        (REASON, "Small", {"/confirmation"}),
        (REASON, "small ", {"/confirmation"}),
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
    order = {"reason": REASON, "confirmation": "small", "override": OVERRIDE}
    assert custodian.post(address, json=order | {"confirmation": "smal"}).status_code == 422
    refused = custodian.post(address, json=order | {"override": ""}).get_json()
    status = custodian.get(f"/api/v1/studies/{study.name}/status").get_json()
    assert [each["detail"] for each in refused["errors"]] == status["unfinished"] != []
    answer = custodian.post(address, json=order)
    assert answer.status_code == 200
    assert answer.get_json()["agrees"] is True
    public = world.client().get(f"/api/v1/studies/{study.name}/commitment").get_json()
    seed, salt = bytes.fromhex(public["seed"]), bytes.fromhex(public["salt"])
    assert verify(public["commitment"], seed, salt)
    assert custodian.post(address, json=order).status_code == 409


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


CARL = "carl@example.org"
HOUR_US = 3600 * 1_000_000
BODY = {"reason": "every run is complete", "confirmation": "small", "override": OVERRIDE}
UNBLINDING = "/studies/small/unblinding"
FROM = re.compile(r"You may unblind this study from \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC on")


@pytest.fixture
def waiting_world(tmp_path: Path, database_url: str) -> Iterator[World]:
    """A server on which new custodians must wait for a day."""
    made = World(tmp_path, database_url, custodian_wait_hours=24)
    yield made
    made.close()


def locked(world: World) -> int:
    """Make the locked study `small` with one participant, and return its id."""
    made = given_studies.study(world, protocol=given_studies.small())
    people.participant(world, made)
    return made.id


def custodian(world: World) -> FlaskClient:
    """A program with a fresh token of a custodian of every study."""
    return world.client(world.account(Role.CUSTODIAN, email=CARL))


def hours_ago(world: World, hours: float, *, given: bool = False) -> None:
    """Change the time at which the role (or with `given` the password) was given."""
    moment = now_us() - int(hours * HOUR_US)
    with world.database.writing() as session:
        if given:
            session.execute(update(Account).where(Account.email == CARL).values(password_given_us=moment))
        else:
            session.execute(update(Grant).where(Grant.role == Role.CUSTODIAN).values(granted_us=moment))


def lock_hours_ago(world: World, hours: float) -> None:
    """Change the time of the study's lock."""
    with world.database.writing() as session:
        session.execute(update(Study).values(locked_us=now_us() - int(hours * HOUR_US)))


def is_unblinded(world: World) -> bool:
    """Whether the database has conditions."""
    with world.database.reading() as session:
        return None not in set(session.scalars(select(Run.condition)))


def test_who_was_custodian_before_the_lock_unblinds_at_once(waiting_world: World) -> None:
    client = custodian(waiting_world)
    locked(waiting_world)
    assert client.post(f"/api/v1{UNBLINDING}", json=BODY).status_code == 200
    assert is_unblinded(waiting_world)


def test_who_became_custodian_after_the_lock_unblinds_neither_the_study_nor_a_run(waiting_world: World) -> None:
    locked(waiting_world)
    client = custodian(waiting_world)
    with waiting_world.database.reading() as session:
        code = session.scalars(select(Run.code).limit(1)).one()
    for path, name in ((f"/api/v1{UNBLINDING}", "small"), (f"/api/v1/studies/small/runs/{code}/unblinding", code)):
        body = BODY if name == "small" else {"reason": BODY["reason"]}
        answer = client.post(path, json=body | {"confirmation": name})
        assert (answer.status_code, answer.get_json()["type"]) == (403, "urn:happe:problem:custodian-waits")
        assert FROM.match(answer.get_json()["detail"])
    assert not is_unblinded(waiting_world)


@pytest.mark.parametrize(
    ("role", "password", "status"),
    [
        (23.99, None, 403), (24.01, None, 200),
        (150, 23.99, 403), (150, 24.01, 200), (150, 200, 200),  # a custodian from before the lock
        (50, 1, 403), (1, 50, 403), (50, 30, 200),  # the later one counts
    ],
)  # fmt: skip
def test_a_custodian_waits_for_a_day_after_the_later_of_role_and_given_password(
    waiting_world: World, role: float, password: float | None, status: int
) -> None:
    # Given a lock 100 hours ago, and a custodian with a role and a password of so many hours ago
    client = custodian(waiting_world)
    locked(waiting_world)
    lock_hours_ago(waiting_world, 100)
    hours_ago(waiting_world, role)
    if password is not None:
        hours_ago(waiting_world, password, given=True)
    # When, then
    assert client.post(f"/api/v1{UNBLINDING}", json=BODY).status_code == status
    assert is_unblinded(waiting_world) == (status == 200)


def test_the_pages_refuse_too_and_say_from_when(waiting_world: World) -> None:
    locked(waiting_world)
    client = browser(waiting_world, Role.CUSTODIAN)
    answer = post(client, f"{UNBLINDING}/study", **BODY)
    assert (answer.status_code, bool(FROM.search(answer.text))) == (403, True)
    with waiting_world.database.reading() as session:
        code = session.scalars(select(Run.code).limit(1)).one()
    answer = post(client, f"{UNBLINDING}/run", run=code, reason=BODY["reason"], confirmation=code)
    assert (answer.status_code, bool(FROM.search(answer.text))) == (403, True)
    assert not is_unblinded(waiting_world)


def test_a_password_that_an_administrator_gives_is_noted_and_one_s_own_is_not(world: World) -> None:
    email = given_accounts.account(world)
    with world.app.app_context(), world.database.writing() as session:
        account = accounts.get(session, email)
        assert account.password_given_us is None
        accounts.set_password(session, None, account, PASSWORD, given=True)
        given_us = account.password_given_us
        assert given_us
        accounts.set_password(session, None, account, PASSWORD, given=False)
        assert account.password_given_us == given_us
        made = accounts.create(session, None, "eve@example.org", PASSWORD, given=True)
        assert made.password_given_us


def shown(client: FlaskClient) -> list[dict[str, Any]]:
    """The custodians in a study's status."""
    found: list[dict[str, Any]] = client.get("/api/v1/studies/small/status").get_json()["custodians"]
    return found


def test_everybody_who_reads_the_study_sees_who_is_custodian_since_when_and_who_waits(waiting_world: World) -> None:
    waiting_world.account(Role.CUSTODIAN, email="early@example.org")
    study_id = locked(waiting_world)
    waiting_world.account(Role.CUSTODIAN, study_id=study_id, email=CARL)
    for role in set(Role) - {Role.CUSTODIAN}:
        early, late = sorted(shown(waiting_world.staff(role)), key=lambda one: one["since_us"])
        assert (early["email"], early["unblinds_from_us"], early["active"]) == ("early@example.org", None, True)
        assert (late["email"], late["unblinds_from_us"] - late["since_us"]) == (CARL, 24 * HOUR_US)
    page = browser(waiting_world, Role.EXPERIMENTER).get(UNBLINDING).text
    assert re.search(rf"{CARL}</th>.*?<td>from <time", page, re.DOTALL)
    assert re.search(r"early@example\.org</th><td><time [^>]+>[^<]+</time></td>\s*<td>now", page)


def test_a_disabled_account_is_seen_and_no_way_to_wait_unseen(waiting_world: World) -> None:
    locked(waiting_world)
    custodian(waiting_world)
    with waiting_world.database.writing() as session:
        accounts.disable(session, None, accounts.get(session, CARL))
    (carl,) = shown(waiting_world.staff(Role.AUDITOR))
    assert (carl["email"], carl["active"]) == (CARL, False)


def test_before_the_lock_nobody_waits_and_who_locks_sees_who_could_unblind(waiting_world: World) -> None:
    given_studies.study(waiting_world, protocol=given_studies.small(), locked=False)
    custodian(waiting_world)
    assert shown(waiting_world.staff(Role.ANALYST))[0]["unblinds_from_us"] is None
    assert CARL in browser(waiting_world, Role.INVESTIGATOR).get("/studies/small/lock").text


def test_a_custodian_who_came_after_the_page_was_opened_is_not_locked_in_unseen(waiting_world: World) -> None:
    lock, client = "/studies/small/lock", browser(waiting_world, Role.INVESTIGATOR)
    given_studies.study(waiting_world, protocol=given_studies.small(), locked=False)
    waiting_world.account(Role.CUSTODIAN, email="early@example.org")
    seen = people.hidden(client.get(lock).text)
    custodian(waiting_world)
    refused = client.post(lock, data=seen | {"sure": "yes"})
    assert (refused.status_code, CARL in refused.text) == (409, True)
    assert shown(waiting_world.staff(Role.ANALYST))[0]["unblinds_from_us"] is None
    assert client.post(lock, data=people.hidden(refused.text) | {"sure": "yes"}).status_code == 303


def test_a_role_that_is_taken_and_given_again_counts_from_the_second_time(waiting_world: World) -> None:
    custodian(waiting_world)
    study_id = locked(waiting_world)
    with waiting_world.database.writing() as session:
        account = accounts.get(session, CARL)
        accounts.revoke(session, None, account, Role.CUSTODIAN, None)
        accounts.grant(session, None, account, Role.CUSTODIAN, None)
        session.flush()
        (carl,) = custodians.of_study(session, session.get_one(Study, study_id), 24)
    assert carl.waits


def test_the_longest_held_of_several_grants_counts(waiting_world: World) -> None:
    custodian(waiting_world)
    study_id = locked(waiting_world)
    with waiting_world.database.writing() as session:
        found = session.get_one(Study, study_id)
        accounts.grant(session, None, accounts.get(session, CARL), Role.CUSTODIAN, found)
        session.flush()
        (carl,) = custodians.of_study(session, found, 24)
    assert not carl.waits
