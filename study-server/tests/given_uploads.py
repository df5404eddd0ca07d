# SPDX-License-Identifier: GPL-2.0-or-later
"""A study with many started runs and a begun trace, the devices' uploads of these, and a check that all arrived."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import count
from uuid import UUID, uuid4

from sqlalchemy import func, select, update

import given_devices
import given_participants
import given_studies
import given_traces
import records
from given_devices import Enrolled
from happe_study.model.audit.models import AuditEntry, AuditHead
from happe_study.model.audit.verify import verify_log
from happe_study.model.profiles import TaughtRun
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Study
from happe_study.model.traces import SweptPart, Trace, TracePart
from happe_study.study.profiles import services as profiles
from happe_study.study.records.stored import opened
from happe_study.study.sealing import record_digest
from happe_study.study.traces import upkeep
from happe_study.study.traces.storage import Folder, Part, Storage
from uploader import Item
from world import World, fixed_secrets

KEY = fixed_secrets().allocation
LEVELS = 64
APPLICATION = '\n[[application]]\nkey = "a{0}"\nname = "A{0}"\ncommand = ["a{0}"]\nseconds = 60\n'


@dataclass(frozen=True)
class Underway:
    """Runs that a laptop has started, and a trace that a meter has begun."""

    laptop: Enrolled
    meter: Enrolled
    runs: tuple[str, ...]  # codes
    trace: UUID


def underway(world: World, *, applications: int, participants: int) -> Underway:
    """A study with levels, in which every run of the participants has started: 64 for each application."""
    more = "".join(APPLICATION.format(number) for number in range(applications - 2))
    protocol = given_studies.small(participants=LEVELS, scheme="levels")
    protocol = protocol.replace('"levels"', f'"levels"\nlevels = {LEVELS}').replace("\n[order]", f"{more}\n[order]")
    study = given_studies.study(world, protocol=protocol)
    laptop, meter = given_devices.device(world, study), given_devices.device(world, study, "meter")
    for _ in range(participants):
        given_participants.participant(world, study)
    header = given_devices.header(study, meter, laptop)
    assert given_devices.put_trace(world.client(meter.token), header).status_code == 201  # noqa: PLR2004 - Created
    with world.database.writing() as session:  # the same as starting each, but quicker
        session.execute(
            update(Run).values(state="started", started_us=1, device_id=laptop.device.id, start_id=str(uuid4()))
        )
        runs = tuple(session.scalars(select(Run.code).order_by(Run.id)))
    return Underway(laptop, meter, runs, UUID(header["id"]))


def record(code: str) -> bytes:
    """The record of a run, the same at each call."""
    seed = int.from_bytes(code.encode())
    return records.encode(records.make(code, 20, seed, client_id=record_id(code)))


def record_id(code: str) -> str:
    """The id of a run's record."""
    return records.identity(int.from_bytes(code.encode()))


def part(number: int, most: int) -> bytes:
    """A part of at most `most` bytes, the same at each call."""
    size = max(64, int.from_bytes(sha256(str(number).encode()).digest()[:4]) % most)
    footer = b"columns"
    body = sha256(f"part {number}".encode()).digest() * (size // 32)
    return b"PAR1" + body + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def record_items(codes: tuple[str, ...]) -> Iterator[Item]:
    """The records of runs, in an endless loop."""
    while True:
        for code in codes:
            headers = {"Content-Type": "application/json"}
            yield Item(f"/api/v1/runs/{code}/record/{record_id(code)}", partial(_record_request, headers, code))


def part_items(trace: UUID, first: int, step: int, most: int = 1 << 19) -> Iterator[Item]:
    """Every `step`th part of a trace, without end."""
    for number in count(first, step):
        yield Item(f"/api/v1/traces/{trace}/parts/{number}", partial(_part_request, number, most))


def _record_request(headers: dict[str, str], code: str) -> tuple[dict[str, str], bytes | list[bytes]]:
    return headers, record(code)


def _part_request(number: int, most: int) -> tuple[dict[str, str], bytes | list[bytes]]:
    content = part(number, most)
    return given_devices.part_headers(content), content


def require_all(world: World, storage: Storage, acknowledged: list[str], most: int = 1 << 19) -> Counter[str]:
    """Assert that all acknowledged uploads are there, once and whole, and that the audit log verifies. Counts them."""
    upkeep.sweep(world.database, storage, older_than=0)
    wanted = set(acknowledged)
    there = _records(world) | _parts(world, storage, most)
    assert wanted <= there, f"{len(wanted - there)} of {len(wanted)} acknowledged uploads are missing"
    _require_nothing_twice(world)
    return Counter(path.split("/")[3] for path in there)


def _records(world: World) -> set[str]:
    with world.database.reading() as session:
        rows = session.execute(select(Run.code, RunRecord).join(RunRecord, RunRecord.run_id == Run.id)).all()
    for code, row in rows:
        assert opened(KEY, code, row.document) == record(code)
        assert row.digest == record_digest(KEY, sha256(record(code)).hexdigest())
    return {f"/api/v1/runs/{code}/record/{row.client_id}" for code, row in rows}


def _parts(world: World, storage: Storage, most: int) -> set[str]:
    paths, keys = set(), set()
    with world.database.reading() as session:
        rows = session.execute(select(Trace.client_id, TracePart).join(TracePart, TracePart.trace_id == Trace.id)).all()
        waiting = set(session.scalars(select(SweptPart.key)))  # stored by servers that were killed before their rows
    for trace, row in rows:
        named = Part(UUID(trace), row.number, row.sha256)
        assert sha256(storage.read(named)).hexdigest() == row.sha256
        assert given_traces.kept(world, trace, row.number) == part(row.number, most)
        paths.add(f"/api/v1/traces/{trace}/parts/{row.number}")
        keys.add(storage.key(named))
    left = {each.key for each_trace in storage.traces() for each in storage.stored(each_trace)}
    assert not waiting & keys
    assert left == waiting | keys, (
        "after sweeping there are only acknowledged parts, and those that wait for a later sweep"
    )
    on_disk = {str(path.relative_to(storage.root)) for path in storage.root.rglob("*") if path.is_file()}
    assert on_disk == (left if isinstance(storage, Folder) else set())
    return paths


def take_out(world: World) -> None:
    """Copy the lessons of every study's records into tables, as unblinding does."""
    with world.database.writing() as session:
        for study_id in session.scalars(select(Study.id)).all():
            profiles.take_out(session, study_id, fixed_secrets())


def _require_nothing_twice(world: World) -> None:
    take_out(world)
    with world.database.reading() as session:
        report = verify_log(session)
        assert report.is_whole, report.faults
        head = session.get_one(AuditHead, 1)
        last = session.get_one(AuditEntry, head.number)
        assert last.chain_sha256 == head.chain_sha256
        stored = session.execute(select(RunRecord.run_id, Run.code, RunRecord.document).join(Run)).all()
        recorded = session.scalar(select(func.count()).where(AuditEntry.action == "run.recorded"))
        rows = session.scalars(select(TaughtRun)).all()
        arrived = session.scalar(select(func.count()).where(Run.record_us.is_not(None)))
    assert recorded == arrived == len(stored), "one audit entry and one mark for each record"
    documents = {run_id: json.loads(opened(KEY, code, document)) for run_id, code, document in stored}
    taught = {row.run_id: (len(row.lessons), row.after) for row in rows}
    served = {run: each for run, each in documents.items() if each["profile_after"]}
    assert taught == {run: (len(each["learned"]), each["profile_after"]) for run, each in served.items()}
