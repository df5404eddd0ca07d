# SPDX-License-Identifier: GPL-2.0-or-later
"""Concurrent transactions: none waits for one that waits for it, and of two that exclude each other one is refused."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

import given_accounts
import given_participants as people
import given_profiles
import records
from given_devices import Enrolled, device, header, put_record, put_trace
from given_jobs import job as job_now
from given_studies import small, study
from happe_study.base.problems import Problem
from happe_study.model.accounts import Account
from happe_study.model.audit import chain
from happe_study.model.audit.models import AuditDetail
from happe_study.model.devices import Sitting
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import JobState
from happe_study.model.participants import Participant
from happe_study.model.profiles import Profile, ReviewKind
from happe_study.model.rights import Role
from happe_study.model.rules import Caller, Who
from happe_study.model.runs import ExclusionReason
from happe_study.model.studies import Study
from happe_study.operations import backup as backups
from happe_study.results import unblinding
from happe_study.results.unblinding import Order
from happe_study.results.withdrawal import services as withdrawal
from happe_study.study.people import accounts, sittings
from happe_study.study.profiles import downloads, reviews
from happe_study.study.profiles.services import Taken, take_out
from happe_study.study.runs import exclusions
from happe_study.study.runs import services as runs
from happe_study.study.studies import services as studies
from happe_study.study.traces import services as traces
from happe_study.study.traces.sealed import new_trace_key
from patience import PATIENCE_S, until
from world import World, fixed_secrets

Act = Callable[[Session], object]

SECRETS = fixed_secrets()
pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # SQLite has one writer at a time


def meanwhile(world: World, thread: ThreadPoolExecutor, act: Act, waiting: int = 1) -> Future[Any]:
    """Begin a transaction in another thread. When this returns, it has ended, or so many transactions wait."""

    def transaction() -> object:
        with world.app.app_context(), world.database.writing() as session:
            return act(session)

    begun = thread.submit(transaction)
    until(lambda: begun.done() or world.waits(waiting), "the other transaction")
    return begun


def second_of_two(world: World, first: Act, second: Act) -> Any:  # noqa: ANN401 - what `second` returns
    """What `second` returns or raises if it comes while the transaction of `first` is open."""
    with ThreadPoolExecutor(1) as thread:
        with world.app.app_context(), world.database.writing() as session:
            first(session)
            begun = meanwhile(world, thread, second)
        return begun.result(PATIENCE_S)


def test_a_header_that_comes_again_before_the_answer_is_the_same_trace(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = study(world, protocol=small())
    laptop, meter = device(world, made), device(world, made, "meter")
    looked = threading.Barrier(2, timeout=PATIENCE_S)

    def wait(key: bytes, trace: str) -> bytes:
        looked.wait()
        return new_trace_key(key, trace)

    monkeypatch.setattr(traces, "new_trace_key", wait)
    document = header(made, meter, laptop)
    with ThreadPoolExecutor(2) as threads:
        sent = [threads.submit(put_trace, world.client(meter.token), document) for _ in range(2)]
        assert sorted(each.result(PATIENCE_S).status_code for each in sent) == [200, 201]


def test_the_audit_log_goes_on_while_a_study_is_unblinded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    made = study(world, protocol=small())
    custodian = world.account(Role.CUSTODIAN, study_id=made.id)
    under_way, ended = threading.Event(), threading.Event()

    def wait(*_args: object) -> Taken:
        under_way.set()
        ended.wait(PATIENCE_S)
        return Taken()

    monkeypatch.setattr(unblinding, "take_out", wait)
    order = {"reason": "every run is complete", "confirmation": made.name, "override": "a test is short"}
    with ThreadPoolExecutor(2) as threads:
        told = threads.submit(world.client(custodian).post, f"/api/v1/studies/{made.name}/unblinding", json=order)
        assert under_way.wait(PATIENCE_S)
        threads.submit(_say_something, world, made.id).result(PATIENCE_S)
        ended.set()
        assert told.result(PATIENCE_S).status_code == 200


def _say_something(world: World, study_id: int) -> None:
    """Append an entry about a study to the audit log."""
    with world.database.writing() as session:
        chain.append(session, "device.heard", None, study_id=study_id)


def test_roles_given_at_the_same_time_exclude_each_other(world: World) -> None:
    made, email = study(world, protocol=small()), given_accounts.account(world)

    def give(role: Role) -> Act:
        return lambda session: accounts.grant(
            session, None, accounts.get(session, email), role, session.get_one(Study, made.id)
        )

    with pytest.raises(Problem, match="One person can't be both"):
        second_of_two(world, give(Role.CUSTODIAN), give(Role.EXPERIMENTER))


def test_two_administrators_who_disable_each_other_leave_one(world: World) -> None:
    ada, bob = (
        given_accounts.account(world, Role.ADMINISTRATOR, email=f"{name}@example.org") for name in ("ada", "bob")
    )

    def disable(email: str) -> Act:
        return lambda session: accounts.disable(session, None, accounts.get(session, email))

    with pytest.raises(Problem, match="This is the last administrator"):
        second_of_two(world, disable(bob), disable(ada))


def test_of_two_jobs_of_a_kind_that_are_tried_again_at_once_one_begins(world: World) -> None:
    made = study(world, protocol=small())
    with world.database.writing() as session:
        for _ in range(2):
            jobs.ask(session, "checks", "anna@example.org", made.id, conditions=False).state = JobState.FAILED

    def retry(number: int) -> Callable[[Session], None]:
        return lambda session: jobs.retry(session, jobs.find(session, number, to_retry=True))

    with pytest.raises(Problem, match="Another job of this kind"):
        second_of_two(world, retry(1), retry(2))
    assert [job_now(world, number).state for number in (1, 2)] == ["waiting", "failed"]


def test_of_two_backups_that_are_asked_for_at_once_one_is_made(world: World) -> None:
    with pytest.raises(Problem, match="makes a backup already"):
        second_of_two(world, backups.ask, backups.ask)


def test_a_job_that_is_tried_again_is_not_among_the_old_ones_that_a_new_one_removes(world: World) -> None:
    for _ in range(jobs.KEPT + 1):
        with world.database.writing() as session:
            jobs.ask(session, "erasing", "a withdrawal").state = JobState.FAILED

    def retry(session: Session) -> None:
        jobs.retry(session, jobs.find(session, 2))

    second_of_two(world, retry, lambda session: jobs.ask(session, "erasing", "a withdrawal"))
    assert job_now(world, 2).state == JobState.WAITING


def test_of_two_accounts_made_with_one_address_at_once_the_second_is_refused(world: World) -> None:
    def create(session: Session) -> Account:
        return accounts.create(session, None, "ada@example.org", given_accounts.PASSWORD, given=True)

    with pytest.raises(Problem, match="exists already"):
        second_of_two(world, create, create)


def test_of_two_studies_created_with_one_name_at_once_the_second_changes_the_first(world: World) -> None:
    made, new = second_of_two(
        world,
        lambda session: studies.put(session, small(participants=4), None),
        lambda session: studies.put(session, small(participants=8), None),
    )
    assert (studies.protocol_of(made).participants, new) == (8, False)


def test_profiles_that_two_people_assign_at_once_are_assigned_once(world: World) -> None:
    given_profiles.taught(world, players=2, runs=2)
    world.account(Role.REVIEWER)

    assert second_of_two(world, assign, assign) == 0


# A withdrawal meets others.


class Someone:
    """A participant at a laptop who has completed the first run, with its record, in a study that is still blinded."""

    def __init__(self, world: World, choice: str) -> None:
        self.study = study(world, protocol=small())
        self.row, self.token = people.participant(world, self.study, choice=choice)
        self.laptop: Enrolled = people.laptop_with(world, self.study, self.row)
        self.runs = [run.code for run in people.runs_of(world, self.row)]
        people.answered(world, self.runs[0], self.laptop)
        record = records.make(self.runs[0], 30, client_id=str(uuid4()))
        assert put_record(world.client(self.laptop.token), record).status_code == 201

    def take_out(self, session: Session) -> None:
        """Copy the lessons of the record into tables."""
        take_out(session, self.study.id, SECRETS)

    def unblind(self, session: Session) -> None:
        """Unblind the study."""
        order = Order(None, "Everything is complete.", self.study.name, "A test is short.")
        unblinding.unblind(session, session.get_one(Study, self.study.id), SECRETS, order)

    def unblind_run(self, session: Session) -> None:
        """Unblind the first run."""
        order = Order(None, "Somebody fell ill.", self.runs[0])
        run = runs.find(session, self.study.id, self.runs[0])
        unblinding.unblind_run(session, session.get_one(Study, self.study.id), run, SECRETS, order)

    def exclude(self, session: Session) -> None:
        """Exclude the first run."""
        mine = session.get_one(Study, self.study.id)
        exclusions.exclude(session, mine, self.runs[0], ExclusionReason.FAULT, "It crashed.", None)

    def leave(self, session: Session) -> None:
        """Leave the laptop."""
        sittings.leave(session, people.as_device(self.laptop))

    def sit(self, session: Session) -> None:
        """Sit down at the laptop again."""
        sittings.sit(session, people.as_device(self.laptop), self.token)


def note(session: Session) -> None:
    """Write a note on a profile."""
    one = session.scalars(select(Profile)).first()
    assert one
    reviews.review(session, one, ReviewKind.NOTE, "odd", Caller(Who.STAFF, 0, "ada@example.org"))


def download(session: Session) -> None:
    """Download the lessons of a profile."""
    one = session.scalars(select(Profile)).first()
    assert one
    downloads.note_lessons(session, one, Caller(Who.STAFF, 0, "ada@example.org"))


def assign(session: Session) -> int:
    """Assign every profile to the only reviewer, and return the number of new assignments."""
    made = session.scalars(select(Study)).one()
    [reviewer] = reviews.reviewers(session, made.id)
    return reviews.assign(session, made, select(Profile), reviewer, Caller(Who.STAFF, 0, "ada@example.org"))


@pytest.mark.parametrize("choice", ["erase", "deidentify"])
@pytest.mark.parametrize("act", ["take_out", "unblind", "unblind_run", "exclude", "leave", "note", "download"])
def test_what_comes_during_a_withdrawal_waits_for_it(world: World, choice: str, act: str) -> None:
    # given
    someone = Someone(world, choice)
    if act in {"note", "download"}:
        with world.database.writing() as session:
            someone.take_out(session)
    doing = {"note": note, "download": download}.get(act) or getattr(someone, act)
    # when
    with ThreadPoolExecutor(1) as thread:
        with world.database.writing() as session:
            row = session.get_one(Participant, someone.row.id, with_for_update=True)  # as a withdrawal begins
            other = meanwhile(world, thread, doing)
            withdrawal.withdraw(session, row, SECRETS, None)
        with suppress(Problem):  # the withdrawal has renamed or erased it
            other.result(PATIENCE_S)
    # then
    with world.database.reading() as session:
        told = session.scalars(select(AuditDetail.detail).where(AuditDetail.participant_id == someone.row.id)).all()
        assert [detail for detail in told if someone.row.code in str(detail) or choice == "deidentify"] == []
        assert session.scalar(select(func.count()).where(Sitting.ended_us.is_(None))) == 0


def test_profiles_assigned_during_a_withdrawal_are_those_that_stay(world: World) -> None:
    given_profiles.taught(world, players=2, runs=2)
    world.account(Role.REVIEWER)

    def withdraw(session: Session) -> None:
        row = session.scalars(select(Participant).order_by(Participant.id)).first()
        assert row
        withdrawal.withdraw(session, row, SECRETS, None)

    second_of_two(world, withdraw, assign)


# The steps of a participant meet others.


@pytest.mark.parametrize("act", ["unblind", "sit"])
def test_a_run_that_starts_meets(world: World, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    # given
    someone = Someone(world, "erase")
    require_open, other = runs._require_open, []  # noqa: SLF001 - after it a start has locked the participant

    def wait(*args: Any) -> None:  # noqa: ANN401 - as _require_open takes them
        other.append(meanwhile(world, thread, getattr(someone, act)))
        require_open(*args)

    monkeypatch.setattr(runs, "_require_open", wait)
    # when
    with ThreadPoolExecutor(1) as thread:
        with suppress(Problem):  # the study is not blinded any more
            people.started(world, someone.runs[1], someone.laptop)
        # then
        other[0].result(PATIENCE_S)


def test_a_rating_meets_its_participant_who_leaves_the_laptop(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # given
    someone = Someone(world, "erase")
    people.ended(world, someone.runs[1], someone.laptop)
    left: list[Future[Any]] = []

    def append(session: Session, action: str, who: Caller, **detail: Any) -> None:  # noqa: ANN401 - as append() takes it
        left.append(meanwhile(world, thread, someone.leave))
        chain.append(session, action, who, **detail)

    monkeypatch.setattr(runs, "append", append)
    # when
    with ThreadPoolExecutor(1) as thread:
        with world.database.writing() as session:
            run = runs.find(session, someone.study.id, someone.runs[1])
            runs.rate(session, run, str(uuid4()), 3, people.as_participant(someone.row))
        # then
        left[0].result(PATIENCE_S)
