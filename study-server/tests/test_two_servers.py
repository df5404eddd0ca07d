# SPDX-License-Identifier: GPL-2.0-or-later
"""A study from its start to its report on two servers, three workers, one PostgreSQL and one S3 store.

The test kills a server, a worker or the store at times. Nothing acknowledged is lost, nothing is doubled, and nothing
is left over. `tools/validate.sh long` has the long form, with versitygw (HAPPE_VERSITYGW names the program) and 30
kills.
"""

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Protocol
from uuid import UUID, uuid4

import obstore
import pytest
from sqlalchemy import func, select, update

import given_participants as people
import given_power
import given_reports
import given_studies
import records
from given_devices import device, put_record, seat
from happe_study.model.audit.models import AuditEntry
from happe_study.model.devices import Sitting
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import OPEN, Job, JobState
from happe_study.model.participants import Participant
from happe_study.model.results import FilePiece
from happe_study.model.rights import Role
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Study
from happe_study.model.traces import Trace, TracePart
from happe_study.results.reports import REPORT
from happe_study.study.checks.services import CHECKS
from happe_study.study.measuring.job import MEASURING
from happe_study.study.sealing import open_condition
from happe_study.study.traces import upkeep
from happe_study.study.traces.bucket import OWNER, Bucket
from happe_study.study.traces.storage import Part
from patience import until
from s3_stores import Moto, Versity
from two_servers import Lab
from world import World, fixed_secrets

pytestmark = pytest.mark.long

KILLS = int(os.environ.get("HAPPE_KILLS", "2"))
PARTICIPANTS = int(os.environ.get("HAPPE_PARTICIPANTS", "1"))
SECONDS, RUNS = 40, 10  # of each participant
LONGEST_MOMENT = 4.0  # seconds between two kills


@pytest.fixture
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    """Servers, workers and a store. A killed moto forgets its objects, so the short form does not kill the store."""
    program = os.environ.get("HAPPE_VERSITYGW")
    with (
        Versity(tmp_path, Path(program)) if program else Moto(tmp_path) as store,
        Lab(tmp_path, request.getfixturevalue("postgres_url"), store) as made,
    ):
        yield made


class Victim(Protocol):
    """A process that tests kill and start again."""

    def kill(self) -> None:
        """Kill the process."""

    def start(self) -> None:
        """Let the process run again."""


@dataclass
class Killing:
    """Kills processes at random moments during some work, one of each kind in turn, and starts them again."""

    kinds: Sequence[Sequence[Victim]]
    killed: int = 0
    _random: random.Random = field(default_factory=lambda: random.Random(21))

    def during(self, work: Callable[[], None], kills: int) -> None:
        """Do some work, and kill processes meanwhile, or afterwards if it ends early. Raises the work's errors."""
        with ThreadPoolExecutor(1) as thread:
            working = thread.submit(work)
            for _ in range(kills):
                wait([working], self._random.uniform(0, LONGEST_MOMENT))
                victim = self._random.choice(self.kinds[self.killed % len(self.kinds)])
                victim.kill()
                self.killed += 1
                victim.start()
            working.result()


def play(world: World, study: Study) -> list[str]:
    """Let a participant play every run, upload records and power, and return the traces."""
    row, _link = people.participant(world, study)
    traces, known = list[str](), dict[str, list[int] | None]()
    for run in people.runs_of(world, row):
        laptop = device(world, study)
        seat(world, laptop, row.id)
        people.answered(world, run.code, laptop)
        condition = open_condition(fixed_secrets().allocation, run.code, run.condition_sealed)
        before = known.get(run.application) if condition.governor[:2] in ("O-", "B-") else None
        kernel = condition.governor == "ondemand"
        record = records.make(run.code, SECONDS, run.id, kernel=kernel, before=before, client_id=str(uuid4()))
        record |= {"indicator": condition.indicator}
        if not kernel:
            known[run.application] = record["profile_after"]
        assert put_record(world.client(laptop.token), record).status_code == 201
        traces.append(given_power.uploaded(world, study, laptop, record))
    with world.database.writing() as session:  # the clocks of these devices show another day
        session.execute(update(Sitting).values(started_us=given_power.SERVER_US - 60 * given_power.SECOND))
    return traces


def ended(world: World, kind: str) -> Job:
    """Wait until the newest job of a kind has ended, and return it."""

    def look() -> Job | None:
        with world.database.reading() as session:
            job = session.scalars(select(Job).where(Job.kind == kind).order_by(Job.id.desc())).first()
            return job if job is not None and job.state not in OPEN else None

    found = until(look, f"the end of the job {kind}")
    assert found.state == JobState.DONE, found.failed
    return found


def report(world: World, study: Study) -> None:
    """Unblind, which starts measuring the power; then check, and make a report."""
    given_studies.unblind(world, study.name)
    with world.database.writing() as session:
        jobs.ask(session, CHECKS, "a", study.id, conditions=True)
    assert ended(world, MEASURING).result == {"measured": RUNS * PARTICIPANTS, "refused": 0}
    ended(world, CHECKS)
    with world.database.writing() as session:
        jobs.ask(session, REPORT, "a", study.id, number=1)
    ended(world, REPORT)


def keys(lab: Lab) -> list[str]:
    """The key of every object in the bucket, except the one that names the owner."""
    storage = lab.storages()[0]
    assert isinstance(storage, Bucket)
    every = [each["path"] for page in obstore.list(storage._store) for each in page]  # noqa: SLF001 - all of it
    assert every.count(OWNER) == 1
    return [key for key in every if key != OWNER]


def require_all(lab: Lab, traces: list[str]) -> None:
    """Assert that every run, record, trace and part is there once, and nothing else, and that both servers say so."""
    world, storage = lab.world, lab.storages()[0]
    with world.database.reading() as session:
        runs = session.scalar(select(func.count()).select_from(Run))
        assert session.scalar(select(func.count()).select_from(RunRecord)) == runs == RUNS * PARTICIPANTS
        assert session.scalar(select(func.count()).select_from(Run).where(Run.completed_us.is_(None))) == 0
        sealed = session.scalars(select(Trace.client_id).where(Trace.sealed_us.is_not(None)))
        assert sorted(sealed) == sorted(traces)
        rows = select(Trace.client_id, TracePart.number, TracePart.sha256).join(TracePart)
        named = [storage.key(Part(UUID(trace), *more)) for trace, *more in session.execute(rows)]
        names = session.execute(select(FilePiece.name, FilePiece.at)).all()
    assert len(names) == len(set(names)) > 5
    assert f"{len(named)} parts" in str(agreed(lab))
    require_nothing_on_disks(lab)
    assert sorted(keys(lab)) == sorted(named)


def agreed(lab: Lab) -> list[dict[str, str]]:
    """The result of `check`. Asserts that both servers have the same, and that nothing failed."""
    said = []
    for number in range(len(lab.servers)):
        found = json.loads(lab.command(number, "check", "--deep", "--json").out)
        assert not [each for each in found if each["verdict"] == "fail"], found
        said.append([each for each in found if each["what"] in ("store", "traces", "audit log")])
    assert said[0] == said[1]
    return said[0]


def sweep(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the leftovers of the kills, as `check --sweep` does after a month."""
    monkeypatch.setattr(upkeep, "WAIT_SECONDS", 0)
    for storage in lab.storages():
        upkeep.sweep(lab.world.database, storage, older_than=0)


def require_nothing_on_disks(lab: Lab) -> None:
    """Assert that no folder has a file of a trace or of an ended job, once the jobs' workers have removed theirs."""
    until(lambda: not left_on_disks(lab), "no disk has anything of a trace or of a job that has ended")


def left_on_disks(lab: Lab) -> list[Path]:
    """The files of traces and jobs on all machines."""
    tops = [data / name for data in lab.data for name in ("traces", "jobs")]
    walks = [step for top in tops for step in os.walk(top)]  # os.walk skips a folder that a worker removes
    files = [Path(folder, name) for folder, _folders, names in walks for name in names]
    return [path for path in files if ".matplotlib" not in path.parts]


def test_a_study_on_two_servers_outlives_kills_and_erasing_leaves_nothing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    world, traces = lab.world, list[str]()
    study = given_studies.study(world, protocol=given_reports.PROTOCOL)
    killing = Killing(lab.kinds)
    # when
    killing.during(lambda: traces.extend(one for _ in range(PARTICIPANTS) for one in play(world, study)), KILLS // 2)
    killing.during(lambda: report(world, study), KILLS - KILLS // 2)
    # then
    sweep(lab, monkeypatch)
    require_all(lab, traces)
    # when
    staff = world.client(world.account(Role.INVESTIGATOR, study_id=study.id))
    with world.database.reading() as session:
        codes = session.scalars(select(Participant.code)).all()
    for code in codes:
        path = f"/api/v1/studies/{study.name}/participants/{code}/withdrawal"
        answer = staff.once("POST", lab.ports[0], path, json={"confirm": code})
        assert answer.status_code == HTTPStatus.NO_CONTENT, answer
    # then
    until(lambda: keys(lab) == [], "an empty bucket")
    with world.database.reading() as session:
        wanted = select(func.count()).select_from(AuditEntry).where(AuditEntry.action == "traces.erased")
        until(lambda: session.scalar(wanted) == PARTICIPANTS, "the end of every erasure")
    require_nothing_on_disks(lab)
    assert "0 parts" in str(agreed(lab))
