# SPDX-License-Identifier: GPL-2.0-or-later
"""Records of runs arrive once, whole, and only from the laptop that ran them, with their lessons."""

import json
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any
from uuid import uuid4

from sqlalchemy import event, select

import records
from given_devices import Enrolled, device, put_record, said
from given_participants import ended, laptop_with, now, participant, runs_of
from given_studies import small, study
from given_uploads import take_out
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.participants import Participant
from happe_study.model.profiles import TaughtRun
from happe_study.model.runs import Run, RunRecord
from happe_study.results.withdrawal import services as withdrawal
from happe_study.study.records.stored import opened
from happe_study.study.sealing import record_digest
from postgres import ON_BOTH
from world import World, fixed_secrets

Json = dict[str, Any]

MOST_STATEMENTS = 14  # with BEGIN and the token's; it is the hot path


class Sitting:
    """A participant at a laptop. Their first run has ended."""

    def __init__(self, world: World) -> None:
        self.world, self.study = world, study(world, protocol=small())
        self.participant: Participant = participant(world, self.study)[0]
        self.laptop: Enrolled = laptop_with(world, self.study, self.participant)
        self.runs: list[Run] = runs_of(world, self.participant)
        self.client = world.client(self.laptop.token)
        ended(world, self.runs[0].code, self.laptop)

    def record(self, number: int = 0, **options: Any) -> Json:  # noqa: ANN401 - passed on
        """A record of one of the runs."""
        return records.make(self.runs[number].code, **options)


def test_a_record_is_kept_as_it_came_with_what_was_learned(world: World) -> None:
    # given
    sitting = Sitting(world)
    record = sitting.record()
    # when
    answer = put_record(sitting.client, record, padded=True)
    # then
    raw = records.encode(record)
    raw += b" " * (-len(raw) % 65536)
    take_out(world)
    assert (answer.status_code, answer.json) == (201, {"id": record["id"], "sha256": sha256(raw).hexdigest()})
    with world.database.reading() as session:
        row = session.scalars(select(RunRecord)).one()
        taught = session.scalars(select(TaughtRun)).one()
        run = session.get_one(Run, row.run_id)
    key = fixed_secrets().allocation
    assert opened(key, run.code, row.document) == raw
    assert row.digest == record_digest(key, sha256(raw).hexdigest())
    assert taught.lessons == [lesson | {"probe": False} for lesson in record["learned"]]
    assert (taught.before, taught.after) == (record["profile_before"], record["profile_after"])
    assert run.code == record["run"]
    assert run.record_us is not None


def test_another_record_for_a_run_or_under_an_id_is_refused(world: World) -> None:
    # given
    sitting = Sitting(world)
    record = sitting.record(seed=1)
    put_record(sitting.client, record)
    # when
    other_id = put_record(sitting.client, sitting.record(seed=2))
    other_bytes = put_record(sitting.client, record, padded=True)
    # then
    assert [answer.status_code for answer in (other_id, other_bytes)] == [409, 409]
    assert world.count(RunRecord) == 1


def test_an_id_serves_one_run(world: World) -> None:
    # given
    one, taken = Sitting(world), str(uuid4())
    put_record(one.client, one.record(client_id=taken))
    row = participant(world, one.study)[0]
    laptop = laptop_with(world, one.study, row)
    code = runs_of(world, row)[0].code
    ended(world, code, laptop)
    # when
    answer = put_record(world.client(laptop.token), records.make(code, client_id=taken))
    # then
    assert (answer.status_code, said(answer)["type"]) == (409, "urn:happe:problem:record")
    assert world.count(RunRecord) == 1


def test_only_the_laptop_that_started_a_run_has_its_record(world: World) -> None:
    # given
    sitting = Sitting(world)
    record = sitting.record()
    colleague = device(world, sitting.study)
    stranger = device(world, study(world, protocol=small("other")))
    # when
    statuses = [put_record(world.client(each.token), record).status_code for each in (colleague, stranger)]
    # then
    assert statuses == [403, 404]
    assert world.count(RunRecord) == 0


def test_a_run_that_was_not_started_has_no_record(world: World) -> None:
    sitting = Sitting(world)
    answer = put_record(sitting.client, sitting.record(number=1))
    assert (answer.status_code, said(answer)["type"]) == (409, "urn:happe:problem:run-state")


def test_a_withdrawn_participants_record_is_refused(world: World) -> None:
    sitting = Sitting(world)
    with world.database.writing() as session:
        row = session.merge(now(world, sitting.participant), load=False)
        withdrawal.withdraw(session, row, fixed_secrets(), None)
    assert put_record(sitting.client, sitting.record()).status_code in {404, 409}
    assert world.count(RunRecord) == 0


@ON_BOTH
def test_a_record_that_comes_eight_times_at_once_is_kept_once(world: World) -> None:
    # given
    sitting = Sitting(world)
    record = sitting.record()
    # when
    with ThreadPoolExecutor(8) as pool:
        clients = [world.client(sitting.laptop.token) for _ in range(8)]
        statuses = sorted(pool.map(lambda client: put_record(client, record).status_code, clients))
    # then
    assert statuses == [200] * 7 + [201]
    assert world.count(RunRecord) == 1


def test_an_upload_takes_few_statements(world: World) -> None:
    # given
    sitting, statements = Sitting(world), []
    event.listen(world.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    # when
    assert put_record(sitting.client, sitting.record()).status_code == 201
    # then
    assert len(statements) <= MOST_STATEMENTS, statements


def test_the_audit_log_says_nothing_of_what_was_recorded(world: World) -> None:
    sitting = Sitting(world)
    record = sitting.record()
    put_record(sitting.client, record)
    with world.database.reading() as session:
        number = session.scalars(select(AuditEntry.number).where(AuditEntry.action == "run.recorded")).one()
        detail = session.get_one(AuditDetail, number)
    assert detail.detail.keys() == {"by", "run", "record", "digest"}
    assert detail.participant_id == sitting.participant.id


def test_faults_of_a_record_are_told_by_pointer_and_not_repeated(world: World) -> None:
    sitting = Sitting(world)
    record = sitting.record() | {"rating": 900, "run": "ZZZZZZZZ"}
    address = f"/api/v1/runs/{sitting.runs[0].code}/record/{record['id']}"
    answer = sitting.client.put(address, data=json.dumps(record), content_type="application/json")
    assert (answer.status_code, [each["pointer"] for each in said(answer)["errors"]]) == (422, ["/rating"])
