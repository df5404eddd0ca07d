# SPDX-License-Identifier: GPL-2.0-or-later
"""A withdrawal leaves no data, or data that no longer identify the participant. The audit log stays whole."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import delete, func, select, text
from sqlalchemy.orm import Session

import given_devices
import given_jobs
import given_participants as given
import given_studies
import records
from given_accounts import browser
from given_devices import Enrolled
from given_uploads import take_out
from happe_study.base.clock import now_us
from happe_study.base.database import Base
from happe_study.model.audit.chain import append
from happe_study.model.audit.models import AuditDetail
from happe_study.model.audit.verify import verify_log
from happe_study.model.devices import ClockEstimate, Sitting
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import Job, JobState
from happe_study.model.participants import Participant
from happe_study.model.profiles import TaughtRun
from happe_study.model.rights import Role
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Slot, Study
from happe_study.model.traces import Trace, TracePart
from happe_study.results.withdrawal import erasure, retention
from happe_study.results.withdrawal import services as withdrawal
from happe_study.results.withdrawal.erasure import renamed
from happe_study.study.people import sittings
from happe_study.study.records.stored import opened
from happe_study.study.runs import services
from happe_study.study.sealing import open_condition
from happe_study.study.traces.storage import Folder, Part
from operated import Operated
from patience import PATIENCE_S, until
from postgres import ON_BOTH
from world import World, fixed_secrets

SECRETS = fixed_secrets()
HOUR_US = 3600 * 1_000_000
FIELD = "the field of somebody's study"


@dataclass(frozen=True)
class Played:
    """A participant who has completed one run at a laptop, and the run's record."""

    row: Participant
    token: str
    laptop: Enrolled
    runs: list[str]
    record: dict[str, Any]


def played(world: World, study: Study, choice: str = "erase", laptop: Enrolled | None = None) -> Played:
    """Enrol somebody, seat them at a laptop, and let them complete the first run, with its record."""
    row, token = given.participant(world, study, choice=choice)
    laptop = laptop or given_devices.device(world, study)
    given_devices.seat(world, laptop, row.id)
    codes = [run.code for run in given.runs_of(world, row)]
    record = records.make(codes[0], 30, client_id=str(uuid4())) | {"notes": ["Ada was tired."]}
    record = json.loads(json.dumps(record).replace("4HT2XC0N", row.code))
    given.answered(world, codes[0], laptop)
    assert given_devices.put_record(world.client(laptop.token), record).status_code == 201
    with world.database.writing() as session:
        person = session.get_one(Participant, row.id)
        person.answers = {"field_of_study": FIELD}
    return Played(row, token, laptop, codes, record)


def withdraw(world: World, someone: Played) -> None:
    """Withdraw a participant."""
    with world.database.writing() as session:
        person = session.get_one(Participant, someone.row.id)
        withdrawal.withdraw(session, person, SECRETS, given.as_participant(someone.row))


def everything(world: World) -> str:
    """Every row of every table, as text."""
    with world.database.reading() as session:
        rows = [
            [value.hex() if isinstance(value, bytes) else value for value in row]
            for table in Base.metadata.sorted_tables
            for row in session.execute(select(table))
        ]
        documents = [content.decode() for content in contents(session)]
    return json.dumps([rows, documents], default=str)


def contents(session: Session) -> list[bytes]:
    """The content of every record."""
    rows = session.execute(select(Run.code, RunRecord.document).join(RunRecord))
    return [opened(SECRETS.allocation, code, document) for code, document in rows]


def assert_whole(world: World) -> None:
    with world.database.reading() as session:
        report = verify_log(session)
    assert report.faults == []
    assert report.erased > 0


@pytest.fixture
def study(world: World) -> Study:
    return given_studies.study(world, protocol=given_studies.small())


@ON_BOTH
def test_erasing_leaves_stubs_that_tell_nothing(world: World, study: Study) -> None:
    someone = played(world, study)
    take_out(world)
    assert world.count(TaughtRun) == 1
    withdraw(world, someone)
    with world.database.reading() as session:
        person = session.get_one(Participant, someone.row.id)
        assert (person.state, person.stratum) == ("withdrawn", None)
        runs = session.scalars(select(Run).where(Run.participant_id == person.id).order_by(Run.position)).all()
        assert [run.code for run in runs] == someone.runs
        for run in runs:
            assert {getattr(run, name) for name in erasure.MEASURED + erasure.HANDLES} == {None}
        answers = text("SELECT answers IS NULL FROM participants WHERE id = :id")
        assert session.execute(answers, {"id": person.id}).scalar_one() in (True, 1)
    for table in (RunRecord, TaughtRun, Sitting):
        assert world.count(table) == 0
    left = everything(world)
    assert FIELD not in left
    assert someone.record["id"] not in left
    assert world.client(someone.token).get("/api/v1/studies").status_code == 401


def test_after_erasing_the_audit_log_is_whole_and_names_them_no_more(world: World, study: Study) -> None:
    someone, other = played(world, study), played(world, study)
    withdraw(world, someone)
    assert_whole(world)
    with world.database.reading() as session:
        details = json.dumps([row[0] for row in session.execute(text("SELECT detail FROM audit_details"))], default=str)
    assert someone.row.code not in details
    assert not any(code in details for code in someone.runs)
    assert other.row.code in details
    assert other.runs[0] in details


def test_erasing_twice_changes_nothing_more(world: World, study: Study) -> None:
    someone = played(world, study)
    withdraw(world, someone)
    before = everything(world)
    withdraw(world, someone)
    assert everything(world) == before


def test_nothing_can_be_done_any_more_with_runs_of_who_was_erased(world: World, study: Study) -> None:
    someone = played(world, study)
    withdraw(world, someone)
    program = world.client(someone.laptop.token)
    late = records.make(someone.runs[1], 30, seed=2, client_id=str(uuid4()))
    assert given_devices.put_record(program, late).status_code == 409
    assert given_devices.put_record(program, someone.record).status_code == 409
    start = program.post(f"/api/v1/runs/{someone.runs[1]}/start", json={"id": str(uuid4())})
    assert start.status_code == 409
    assert world.count(RunRecord) == 0


def test_deidentified_data_stay_under_codes_that_nobody_knows(world: World, study: Study) -> None:
    someone = played(world, study, "deidentify")
    take_out(world)
    with world.database.reading() as session:
        old = {run.position: run for run in session.scalars(select(Run))}
        lessons = session.scalars(select(TaughtRun.lessons)).all()
    withdraw(world, someone)
    left = everything(world)
    known = [someone.row.code, *someone.runs, someone.record["id"], FIELD, "Ada"]
    assert [each for each in known if each in left] == []
    assert_whole(world)
    with world.database.reading() as session:
        runs = session.scalars(select(Run).order_by(Run.position)).all()
        assert session.scalars(select(TaughtRun.lessons)).all() == lessons
        (document,) = contents(session)
        code = session.get_one(Participant, someone.row.id).code
    for run in runs:
        before = old[run.position]
        assert (run.rating, run.started_us, run.ended_us) == (before.rating, before.started_us, before.ended_us)
        assert open_condition(SECRETS.allocation, run.code, run.condition_sealed) == open_condition(
            SECRETS.allocation, before.code, before.condition_sealed
        )
    record = json.loads(document)
    assert record["run"] == runs[0].code
    assert record["observations"][0]["user"] == f"subject:{code}"
    assert record["learned"] == someone.record["learned"]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # SQLite has one writer at a time
@pytest.mark.parametrize("path", ["runs/{run}/guess", "device/sitting"])
def test_a_request_that_waits_for_a_withdrawal_does_nothing_after_it(world: World, study: Study, path: str) -> None:
    # given
    someone = played(world, study, "deidentify")
    run, client = someone.runs[1], world.client(someone.laptop.token)
    given.ended(world, run, someone.laptop)
    with world.database.writing() as session:
        services.rate(
            session, services.find(session, study.id, run), str(uuid4()), 3, given.as_participant(someone.row)
        )
        sittings.close(session, participant_id=someone.row.id)
    sent = {
        "runs/{run}/guess": {"id": str(uuid4()), "guess": "usual"},
        "device/sitting": {"participant": someone.token},
    }
    # when
    with ThreadPoolExecutor(1) as thread:
        with world.database.writing() as session:
            withdrawal.withdraw(session, session.get_one(Participant, someone.row.id), SECRETS, None)
            answer = thread.submit(client.put, f"/api/v1/{path.format(run=run)}", json=sent[path])
            until(world.waits, "the request that waits")
        status = answer.result(PATIENCE_S).status_code
    # then
    assert status in (404, 422)
    with world.database.reading() as session:
        assert session.scalar(select(func.count()).where(Sitting.ended_us.is_(None))) == 0
        assert session.scalar(select(func.count()).where(Run.guess == "usual")) == 0
        assert session.scalar(select(func.count()).where(AuditDetail.participant_id == someone.row.id)) == 0


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # SQLite has one writer at a time
@pytest.mark.parametrize("choice", ["erase", "deidentify"])
def test_a_withdrawal_waits_for_a_job_that_takes_effect(world: World, study: Study, choice: str) -> None:
    someone = played(world, study, choice)
    with world.database.writing() as session:
        number = jobs.ask(session, "measuring", "anna@example.org", study.id).id
    with ThreadPoolExecutor(1) as thread:
        with world.database.writing() as session:
            assert jobs.find(session, number)
            left = thread.submit(withdraw, world, someone)
            until(world.waits, "the withdrawal, which waits")
            append(session, "power.measured", None, study_id=study.id)
        left.result(PATIENCE_S)
    assert given.now(world, someone.row).state == "withdrawn"
    assert world.count(Job) == 0


@pytest.mark.parametrize(("complete", "kept"), [(True, 1), (False, 0)])
def test_only_who_has_completed_and_lets_the_data_stay_keeps_the_slot(world: World, complete: bool, kept: int) -> None:  # noqa: FBT001 - pytest's way
    study = given_studies.study(world, protocol=given_studies.small())
    someone = played(world, study, "deidentify")
    if complete:
        for code in someone.runs[1:]:
            given.completed(world, code, someone.laptop)
        assert given.now(world, someone.row).state == "done"
    withdraw(world, someone)
    with world.database.reading() as session:
        assert session.scalar(select(func.count(Slot.participant_id))) == kept


def trace(world: World, study: Study, laptop: Enrolled, start_us: int, end_us: int) -> Trace:
    """A sealed power trace of a laptop with one part, recorded between two times of the server's clock."""
    meter = given_devices.device(world, study, "meter")
    offset = 1_000_000_000_000
    header = given_devices.header(study, meter, laptop)
    header["started"] = {"index": 0, "monotonic_us": start_us - offset, "realtime_us": 7}
    row = Trace(
        study_id=study.id,
        device_id=meter.device.id,
        laptop_id=laptop.device.id,
        client_id=header["id"],
        header=header,
        header_sha256="0" * 64,
        key_sealed=b"",
        created_us=now_us(),
        seconds=(end_us - start_us) // 1_000_000,
    )
    with world.database.writing() as session:
        for device_us, off in ((0, 5), (start_us - offset, offset), (2**50, 5)):
            facts = {"device_us": device_us, "server_us": 0, "offset_us": off, "uncertainty_us": 1, "probes": 1}
            who = {"device_id": meter.device.id, "client_id": str(uuid4()), "clock": header["clock"]}
            session.add(ClockEstimate(**who, **facts))
        session.add(row)
        session.flush()
        session.add(
            TracePart(trace_id=row.id, number=0, bytes=12, sha256="0" * 64, digest="0" * 64, received_us=now_us())
        )
        session.expunge(row)
    return row


@ON_BOTH
def test_power_traces_that_are_theirs_alone_go_and_others_stay(world: World, study: Study) -> None:
    laptop, elsewhere = given_devices.device(world, study), given_devices.device(world, study)
    now = now_us()
    one, _token = given.participant(world, study, choice="erase")
    two, _token = given.participant(world, study, choice="erase")
    with world.database.writing() as session:
        for who, start, end in ((one, 10, 8), (two, 6, 4), (one, 3, 2)):
            session.add(
                Sitting(
                    device_id=laptop.device.id,
                    participant_id=who.id,
                    started_us=now - start * HOUR_US,
                    ended_us=now - end * HOUR_US,
                )
            )
    mine = [
        trace(world, study, laptop, now - 9 * HOUR_US, now - 8 * HOUR_US),
        trace(world, study, laptop, now - 3 * HOUR_US, now),
    ]
    shared = trace(world, study, laptop, now - 9 * HOUR_US, now - 5 * HOUR_US)
    theirs = trace(world, study, laptop, now - 6 * HOUR_US, now - 5 * HOUR_US)
    nobodys = trace(world, study, laptop, now - 20 * HOUR_US, now - 19 * HOUR_US)
    other = trace(world, study, elsewhere, now - 9 * HOUR_US, now - 8 * HOUR_US)
    with world.database.writing() as session:
        gone = erasure.erase(session, session.get_one(Participant, one.id))
    assert set(gone) == {each.client_id for each in mine}
    with world.database.reading() as session:
        left = set(session.scalars(select(Trace.client_id)))
    assert world.count(TracePart) == 4
    assert left == {each.client_id for each in (shared, theirs, nobodys, other)}
    with world.database.writing() as session:
        gone = erasure.erase(session, session.get_one(Participant, two.id))
    assert set(gone) == {shared.client_id, theirs.client_id}


def test_a_job_removes_erased_traces_and_the_audit_log_has_its_end(world: World) -> None:
    study = given_studies.study(world, protocol=given_studies.small())
    someone = played(world, study)
    mine = trace(world, study, someone.laptop, now_us() - 1000, now_us())
    storage = Folder(world.config.traces_folder)
    part = Part(UUID(mine.client_id), 0, "0" * 64)
    storage.put(part, records.part(0))
    with world.database.writing() as session:
        person = session.get_one(Participant, someone.row.id)
        withdrawal.withdraw(session, person, SECRETS, None)
    assert storage.path(part).exists()
    assert given_jobs.work_off(world) == [JobState.DONE]
    assert not storage.folder(part.trace).exists()
    with world.database.reading() as session:
        erased = "SELECT detail FROM audit_details JOIN audit_entries USING (number) WHERE action = 'traces.erased'"
        assert mine.client_id in str(session.scalars(text(erased)).one())
    job = given_jobs.job(world)
    assert someone.row.code not in f"{job.asked_by} {job.arguments}"


def test_a_meter_that_still_has_an_erased_trace_cannot_send_it_again(world: World, study: Study) -> None:
    # given a recording that is still under way
    someone, meter = played(world, study), given_devices.device(world, study, "meter")
    client, header = world.client(meter.token), given_devices.header(study, meter, someone.laptop)
    header["started"] = {"index": 0, "monotonic_us": 7, "realtime_us": now_us()}
    assert given_devices.put_trace(client, header).status_code == 201
    assert given_devices.put_part(client, header["id"], 0, records.part(0)).status_code == 201
    # when
    withdraw(world, someone)
    # then
    refused = [given_devices.put_trace(client, header).status_code]
    assert given_jobs.work_off(world) == [JobState.DONE]
    with world.database.writing() as session:
        session.execute(delete(Job))  # as newer jobs of the kind do
    refused.append(given_devices.put_trace(client, header).status_code)
    assert refused == [404, 404]
    assert given_devices.put_trace(client, header | {"id": str(uuid4())}).status_code == 201
    assert world.count(Trace) == 1


def test_a_record_is_renamed_wherever_a_code_stands() -> None:
    record = {"run": "AAAAAAAA", "x": [{"user": "subject:BBBBBBBB"}, 7, None, True], "BBBBBBBB": 1.5, "notes": ["Ada"]}
    other = renamed(json.dumps(record).encode(), {"AAAAAAAA": "CCCCCCCC", "BBBBBBBB": "DDDDDDDD"})
    expected = {"run": "CCCCCCCC", "x": [{"user": "subject:DDDDDDDD"}, 7, None, True], "DDDDDDDD": 1.5}
    assert json.loads(other) == expected


# The day after which the server erases identities.


def kept_until(day: str) -> str:
    """A small study that keeps identities until a day."""
    return given_studies.small() + f'\n[retention]\nuntil = "{day}"\n'


def test_after_its_day_a_study_no_longer_knows_whose_its_data_are(world: World) -> None:
    # given one who has played, one with only a link, and one who has withdrawn and let everything be erased
    study = given_studies.study(world, protocol=kept_until("2020-01-01"))
    someone = played(world, study, "deidentify")
    invited, link = given.participant(world, study, enrolled=False)
    withdraw(world, played(world, study))
    # when
    asked = [retention.ask_where_due(world.database) for _ in range(2)]
    states = given_jobs.work_off(world)
    # then
    assert (asked, states) == ([1, 0], ["done"])
    left = everything(world)
    for told in (FIELD, "Ada", someone.row.code, invited.code, *someone.runs, someone.record["id"]):
        assert told not in left
    assert world.count(RunRecord) == 1
    assert [now.state for now in (given.now(world, someone.row), given.now(world, invited))] == ["replaced", "replaced"]
    for token in (someone.token, link):
        assert world.client().get(f"/p/{token}").status_code == 404
    assert_whole(world)
    with world.database.reading() as session:
        found = session.get_one(Study, study.id)
        planned = retention.plan(session, found)
    assert planned is not None
    assert (planned.people, planned.is_due, world.actions().count("identities.erased")) == (0, True, 1)
    assert retention.ask_where_due(world.database) == 0


def test_before_its_day_nothing_goes_and_page_and_command_say_when(operated: Operated) -> None:
    world = operated.world
    study = given_studies.study(world, protocol=kept_until("2999-12-31"))
    someone = played(world, study, "deidentify")
    before = everything(world)
    planned = operated.done("study", "retention", "small", "--json").json()
    assert planned == {"after": "2999-12-31", "participants": 1, "due": False}
    assert "after 2999-12-31: 1 as of now" in operated.done("study", "retention", "small").out
    refused = operated.run("study", "retention", "small", "--erase")
    assert (refused.status, "has not come" in refused.err) == (65, True)
    assert retention.ask_where_due(world.database) == 0
    with world.database.writing() as session:
        jobs.ask(session, retention.KIND, "somebody", study.id)
    assert given_jobs.work_off(world) == ["failed"]
    assert someone.row.code in everything(world)
    page = browser(world, Role.AUDITOR).get("/studies/small").text
    assert "The server erases them after 2999-12-31" in page
    with world.database.writing() as session:
        session.execute(delete(Job))
    assert set(json.loads(before)[1]) == set(json.loads(everything(world))[1])


def test_a_number_of_days_begins_with_the_unblinding(operated: Operated) -> None:
    world = operated.world
    protocol = given_studies.small() + "\n[retention]\ndays_after_unblinding = 2\n"
    study = given_studies.study(world, protocol=protocol)
    given.participant(world, study)
    assert operated.done("study", "retention", "small", "--json").json()["after"] is None
    assert "2 days after the unblinding: 1 as of now" in operated.done("study", "retention", "small").out
    given_studies.study(world)
    assert operated.run("study", "retention", "paper-a3").status == 66


@pytest.mark.slow
def test_a_worker_erases_identities_by_itself_and_a_killed_one_is_followed(operated: Operated, tmp_path: Path) -> None:
    world = operated.world
    study = given_studies.study(
        world, protocol=kept_until("2020-01-01").replace("participants = 4", "participants = 8")
    )
    people = [given.participant(world, study)[0] for _ in range(8)]
    with given_jobs.Working(world.config, tmp_path / "log") as first:
        until(lambda: len(left_over(world, study)) < len(people), "a first erasure")
        first.process.kill()
        first.process.wait()
    given_jobs.worker_died(world)
    with given_jobs.Working(world.config, tmp_path / "log"):
        assert given_jobs.until_ended(world).state == "done"
    assert left_over(world, study) == []
    assert_whole(world)


def left_over(world: World, study: Study) -> list[int]:
    """The participants whose identities the database still has."""
    with world.database.reading() as session:
        return list(retention.identified(session, study.id))
