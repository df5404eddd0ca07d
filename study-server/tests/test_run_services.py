# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs start, end, get rated, guessed, recorded, aborted and replaced in order, and only once if a report repeats."""

import base64
import hashlib
import json
from collections.abc import Callable
from uuid import uuid4

import jsonschema_rs
import pytest
from nacl.public import PrivateKey, SealedBox
from sqlalchemy.orm import Session

import given_participants as people
from given_devices import Enrolled, device, seat
from given_studies import small, study
from happe_contract.schemas import SCHEMAS
from happe_study.base.clock import now_us
from happe_study.base.problems import Problem
from happe_study.model.participants import OnWithdrawal, Participant
from happe_study.model.rules import Caller, Who
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.results.withdrawal import services as withdrawal
from happe_study.study.people import devices
from happe_study.study.runs import participation as participants
from happe_study.study.runs import services
from happe_study.study.sealing import open_condition
from world import World, fixed_secrets

SCHEMA = jsonschema_rs.validator_for(json.loads((SCHEMAS / "sealed-condition.schema.json").read_text()))


class Sitting:
    """A participant of a small crossover study at a laptop."""

    def __init__(self, world: World, protocol: str = "") -> None:
        """Enrol the participant and the laptop."""
        self.world = world
        self.study = study(world, protocol=protocol or small())
        self.participant, _token = people.participant(world, self.study)
        self.laptop = people.laptop_with(world, self.study, self.participant)

    @property
    def runs(self) -> list[Run]:
        """The participant's runs as they are now."""
        return people.runs_of(self.world, self.participant)

    def does(self, code: str, act: Callable[[Session, Run], object]) -> object:
        """Do something with a run, in a transaction."""
        with self.world.database.writing() as session:
            return act(session, services.find(session, self.study.id, code))

    def refused(self, code: str, act: Callable[[Session, Run], object]) -> str:
        """Do it, and return the kind of the problem."""
        with pytest.raises(Problem) as caught:
            self.does(code, act)
        return caught.value.kind


@pytest.fixture
def sitting(world: World) -> Sitting:
    return Sitting(world)


def start(laptop: Enrolled, start_id: str | None = None) -> Callable[[Session, Run], bytes]:
    name = start_id or str(uuid4())
    return lambda session, run: services.start(session, run, people.as_device(laptop), name, fixed_secrets())


def rate(who: Caller, rating: int, client_id: str | None = None) -> Callable[[Session, Run], None]:
    return lambda session, run: services.rate(session, run, client_id or str(uuid4()), rating, who)


def guess(who: Caller, choice: str, client_id: str | None = None) -> Callable[[Session, Run], None]:
    return lambda session, run: services.guess(session, run, client_id or str(uuid4()), choice, who)


def abort(who: Caller | None, reason: str = "the laptop froze") -> Callable[[Session, Run], None]:
    return lambda session, run: services.abort(session, run, reason, who)


def end(who: Caller) -> Callable[[Session, Run], None]:
    return lambda session, run: services.end(session, run, who)


def lasted(session: Session, run: Run) -> None:
    services.require_lasted(session, run, 0.9)


def given_key(sitting: Sitting) -> None:
    """Let the laptop enrol again, with another key."""
    with sitting.world.database.writing() as session:
        row = devices.find(session, sitting.study.id, sitting.laptop.device.code)
        key = base64.b64encode(bytes(PrivateKey.generate().public_key)).decode()
        devices.enrol(session, devices.renew(session, row, None), key)


def replace(session: Session, run: Run) -> str:
    return services.replace(session, run, fixed_secrets(), None).code


def test_each_start_tells_the_laptop_what_its_key_alone_opens(world: World) -> None:
    # Given
    sitting = Sitting(
        world, 'epp = "power"\n' + small() + "\n[ondemand]\nsampling_rate_us = 20000\nup_threshold = 95\n"
    )
    key = sitting.laptop.key
    assert key
    for run in sitting.runs:
        # When
        sealed = people.completed(world, run.code, sitting.laptop)
        # Then
        assert len(sealed) == 560
        document = json.loads(SealedBox(key).decrypt(sealed))
        assert SCHEMA.is_valid(document)
        del document["pad"]
        condition = open_condition(fixed_secrets().allocation, run.code, run.condition_sealed)
        assert document == {
            "format": "happe-condition/1",
            "study": "small",
            "run": run.code,
            "subject": sitting.participant.code,
            "application": run.application,
            "condition": condition.governor,
            "indicator": condition.indicator,
            "keys": "sham" if condition.governor == "ondemand" else "act",
            "epp": "power",
            **({"sampling_rate_us": 20_000, "up_threshold": 95} if condition.governor == "ondemand" else {}),
        }


def test_both_modes_begin_raised(world: World) -> None:
    # Given
    sitting = Sitting(world, small(scheme="extended"))
    key = sitting.laptop.key
    assert key
    told = {}
    for run in sitting.runs:
        # When
        document = json.loads(SealedBox(key).decrypt(people.completed(world, run.code, sitting.laptop)))
        # Then
        assert SCHEMA.is_valid(document)
        told[document["condition"], run.application] = document.get("raised", False)
    assert {condition for condition, _application in told} == {"T-HAPPE", "O-HAPPE", "L-HAPPE"}
    assert all(raised is (condition != "T-HAPPE") for (condition, _application), raised in told.items())


def test_a_start_said_twice_is_answered_alike_and_no_other_start_is(sitting: Sitting) -> None:
    # Given
    code, name = sitting.runs[0].code, str(uuid4())
    other = device(sitting.world, sitting.study)
    seat(sitting.world, other, sitting.participant.id)

    # When
    first = sitting.does(code, start(sitting.laptop, name))

    # Then
    assert sitting.does(code, start(sitting.laptop, name)) == first
    assert sitting.refused(code, start(sitting.laptop)) == "started"
    assert sitting.refused(code, start(other, name)) == "started"


def test_a_run_that_has_ended_is_not_started_again_and_its_answer_is_gone(sitting: Sitting) -> None:
    # Given
    code, name = sitting.runs[0].code, str(uuid4())
    sitting.does(code, start(sitting.laptop, name))

    # When
    sitting.does(code, end(people.as_device(sitting.laptop)))

    # Then
    assert sitting.runs[0].start_sealed is None
    assert sitting.refused(code, start(sitting.laptop, name)) in {"run-state", "not-next"}


def test_the_next_run_starts_once_the_one_before_is_answered_though_its_record_is_on_its_way(sitting: Sitting) -> None:
    # Given
    first, second = sitting.runs[:2]
    assert sitting.refused(second.code, start(sitting.laptop)) == "not-next"
    people.started(sitting.world, first.code, sitting.laptop)
    assert sitting.refused(second.code, start(sitting.laptop)) == "not-next"
    sitting.does(first.code, end(people.as_device(sitting.laptop)))
    assert sitting.refused(second.code, start(sitting.laptop)) == "not-next"

    # When
    who = people.as_participant(sitting.participant)
    sitting.does(first.code, rate(who, 4))
    assert sitting.refused(second.code, start(sitting.laptop)) == "not-next"
    sitting.does(first.code, guess(who, "dont-know"))

    # Then
    assert people.started(sitting.world, second.code, sitting.laptop)


def test_the_scale_of_the_protocol_has_ends(sitting: Sitting) -> None:
    code = sitting.runs[0].code
    people.ended(sitting.world, code, sitting.laptop)
    for point in (0, 6, -1, 100):
        assert sitting.refused(code, rate(people.as_participant(sitting.participant), point)) == "invalid"


def test_a_guess_said_twice_counts_once_and_must_be_one_that_is_offered(sitting: Sitting) -> None:
    # Given
    code, name = sitting.runs[0].code, str(uuid4())
    who = people.as_participant(sitting.participant)
    people.ended(sitting.world, code, sitting.laptop)
    assert sitting.refused(code, guess(who, "usual")) == "run-state"
    sitting.does(code, rate(who, 3))

    # When
    assert sitting.refused(code, guess(who, "O-HAPPE")) == "invalid"
    sitting.does(code, guess(who, "usual", name))
    sitting.does(code, guess(who, "usual", name))

    # Then
    assert sitting.refused(code, guess(who, "learning")) == "guessed"
    assert sitting.runs[0].guess == "usual"


def test_a_run_is_complete_when_it_is_rated_guessed_and_recorded_in_whatever_order(sitting: Sitting) -> None:
    # Given
    code = sitting.runs[0].code
    people.started(sitting.world, code, sitting.laptop)

    # When
    sitting.does(code, people.record_arrives)
    assert sitting.runs[0].ended_us is not None
    sitting.does(code, rate(people.as_participant(sitting.participant), 1))
    assert sitting.runs[0].state == "rated"
    sitting.does(code, guess(people.as_participant(sitting.participant), "learning"))

    # Then
    assert sitting.runs[0].state == "complete"
    assert sitting.runs[0].completed_us is not None


def test_the_participant_is_done_with_the_last_complete_run(sitting: Sitting) -> None:
    *runs, last = sitting.runs
    for run in runs:
        people.completed(sitting.world, run.code, sitting.laptop)
    people.answered(sitting.world, last.code, sitting.laptop)
    assert people.now(sitting.world, sitting.participant).state == "enrolled"
    sitting.does(last.code, people.record_arrives)
    assert people.now(sitting.world, sitting.participant).state == "done"


def test_an_aborted_run_is_replaced_at_its_position_under_a_new_code_and_the_same_condition(sitting: Sitting) -> None:
    # Given
    old = sitting.runs[0]
    people.started(sitting.world, old.code, sitting.laptop)
    sitting.does(old.code, abort(people.as_device(sitting.laptop)))

    # When
    code = sitting.does(old.code, replace)
    again = sitting.does(old.code, replace)

    # Then
    assert again == code != old.code
    before, new = sitting.runs[:2]
    assert (before.state, new.state, new.code) == ("replaced", "planned", code)
    assert (new.position, new.attempt, new.application) == (1, 2, old.application)
    key = fixed_secrets().allocation
    wanted = open_condition(key, old.code, old.condition_sealed)
    assert open_condition(key, new.code, new.condition_sealed) == wanted
    assert new.condition_sealed != old.condition_sealed
    assert people.started(sitting.world, new.code, sitting.laptop)


def test_an_abortion_said_twice_is_one_and_its_reason_stays(sitting: Sitting) -> None:
    code, who = sitting.runs[0].code, people.as_device(sitting.laptop)
    assert sitting.refused(code, abort(who)) == "run-state"
    people.started(sitting.world, code, sitting.laptop)
    sitting.does(code, abort(who))
    sitting.does(code, abort(who))
    assert sitting.refused(code, abort(who, "another reason")) == "aborted"


def test_a_later_run_that_is_on_is_finished_before_an_earlier_one_is_done_again(sitting: Sitting) -> None:
    # Given
    first, second = sitting.runs[:2]
    people.answered(sitting.world, first.code, sitting.laptop)
    people.started(sitting.world, second.code, sitting.laptop)
    sitting.does(first.code, abort(None, "its record is lost"))
    new = str(sitting.does(first.code, replace))

    # When, then
    assert sitting.refused(new, start(sitting.laptop)) == "not-next"
    sitting.does(second.code, end(people.as_device(sitting.laptop)))
    sitting.does(second.code, rate(people.as_device(sitting.laptop), 2))
    sitting.does(second.code, guess(people.as_device(sitting.laptop), "dont-know"))
    assert people.started(sitting.world, new, sitting.laptop)


def test_no_run_starts_once_the_study_is_unblinded(sitting: Sitting) -> None:
    with sitting.world.database.writing() as session:
        session.get_one(Study, sitting.study.id).state = "unblinded"
    assert sitting.refused(sitting.runs[0].code, start(sitting.laptop)) == "not-open"


def test_a_laptop_that_has_nothing_to_do_with_a_run_changes_nothing_of_it(sitting: Sitting) -> None:
    code, stranger = sitting.runs[0].code, people.as_device(device(sitting.world, sitting.study))
    people.ended(sitting.world, code, sitting.laptop)
    assert sitting.refused(code, rate(stranger, 1)) == "no-sitting"
    assert sitting.refused(code, abort(stranger)) == "forbidden"
    assert sitting.refused(code, end(stranger)) == "forbidden"


def test_another_laptop_rates_for_the_participant_who_moved_to_it_but_neither_ends_nor_aborts(sitting: Sitting) -> None:
    # Given
    code, other = sitting.runs[0].code, device(sitting.world, sitting.study)
    people.started(sitting.world, code, sitting.laptop)

    # When
    seat(sitting.world, other, sitting.participant.id)

    # Then
    assert sitting.refused(code, end(people.as_device(other))) == "forbidden"
    assert sitting.refused(code, abort(people.as_device(other))) == "forbidden"
    assert sitting.runs[0].state == "started"
    sitting.does(code, end(people.as_device(sitting.laptop)))
    sitting.does(code, rate(people.as_device(other), 3))
    sitting.does(code, abort(Caller(Who.STAFF, 1, "erik@example.org"), "the wrong game"))
    assert sitting.runs[0].state == "aborted"


def test_a_laptop_with_another_key_is_not_told_the_condition_again(sitting: Sitting) -> None:
    # Given
    code, name = sitting.runs[0].code, str(uuid4())
    sitting.does(code, start(sitting.laptop, name))

    # When
    given_key(sitting)

    # Then
    assert sitting.refused(code, start(sitting.laptop, name)) == "renewed"
    sitting.does(code, abort(people.as_device(sitting.laptop)))
    assert sitting.runs[0].state == "aborted"


def test_the_log_says_to_which_key_a_run_s_condition_was_told(sitting: Sitting) -> None:
    people.started(sitting.world, sitting.runs[0].code, sitting.laptop)
    assert sitting.laptop.key
    mine = hashlib.sha256(bytes(sitting.laptop.key.public_key)).hexdigest()
    for action in ("device.enrolled", "run.started"):
        assert [entry["key_sha256"] for entry in sitting.world.details(action)] == [mine]


@pytest.mark.parametrize(("minutes", "early"), [(0.0, True), (1.79, True), (1.81, False), (30.0, False)])
def test_a_run_of_two_minutes_has_not_ended_after_less_than_nine_tenths_of_them(
    sitting: Sitting,
    minutes: float,
    early: bool,  # noqa: FBT001 - a case
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Given
    code = sitting.runs[0].code
    assert sitting.runs[0].seconds == 120
    people.started(sitting.world, code, sitting.laptop)

    # When
    now = now_us()
    monkeypatch.setattr(services, "now_us", lambda: now)
    with sitting.world.database.writing() as session:
        run = services.find(session, sitting.study.id, code)
        run.started_us = now - int(minutes * 60_000_000)

    # Then
    if early:
        assert sitting.refused(code, lasted) == "too-early"
    else:
        sitting.does(code, lasted)


@pytest.mark.parametrize("started", [0, 1])
@pytest.mark.parametrize("leaving", ["replaced", OnWithdrawal.ERASE, OnWithdrawal.DEIDENTIFY])
def test_a_slot_that_comes_back_is_on_the_record_if_its_conditions_were_told(
    sitting: Sitting, leaving: str, started: int
) -> None:
    # Given
    for run in sitting.runs[:started]:
        people.started(sitting.world, run.code, sitting.laptop)

    # When
    with sitting.world.database.writing() as session:
        row = session.get_one(Participant, sitting.participant.id)
        if leaving == "replaced":
            participants.replace(session, row, "did not come again", None)
        else:
            row.on_withdrawal = OnWithdrawal(leaving)
            session.flush()
            withdrawal.withdraw(session, row, fixed_secrets(), None)

    # Then
    assert sitting.world.details("slot.returned") == [{"by": "server", "runs_started": 1}] * started
