# SPDX-License-Identifier: GPL-2.0-or-later
"""Power traces in an S3 bucket: receiving, reading, checking, sweeping, erasing, backing up; a store that is away."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import obstore
import pytest
from sqlalchemy import select

import given_jobs
import given_participants
import given_traces
import records
from given_devices import put_part, put_seal
from given_traces import Uploading
from happe_study.base.clock import now_us
from happe_study.base.config import ConfigError
from happe_study.base.s3 import AwayError, NotOwnerError
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import JobState
from happe_study.model.participants import Participant
from happe_study.model.rights import Role
from happe_study.model.studies import Study
from happe_study.model.traces import TracePart
from happe_study.operations import backup as backups
from happe_study.operations import restoring
from happe_study.operations.backup import NoBackupError
from happe_study.operations.checking import Finding, Verdict, check
from happe_study.study.traces import storage as storage_module
from happe_study.study.traces import upkeep
from happe_study.study.traces.bucket import OWNER, Bucket
from happe_study.study.traces.storage import Part
from happe_study.study.traces.stores import storage_of
from happe_study.study.traces.upkeep import ERASING
from leaks import SOME_DIFFER, masked, same_chances, server
from operated import Operated
from s3_stores import Moto
from world import World, fixed_secrets, sqlite_copy

pytestmark = pytest.mark.long

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moto]:
    with Moto(tmp_path_factory.mktemp("moto")) as store:
        yield store


@pytest.fixture
def bucket(moto: Moto) -> str:
    """A new bucket's name."""
    name = f"happe-{next(NUMBERS)}"
    moto.make_bucket(name)
    return name


@pytest.fixture
def world(moto: Moto, bucket: str, sqlite_url: str, tmp_path: Path) -> Iterator[World]:
    """A server with a bucket."""
    made = World(tmp_path, sqlite_url, s3=moto.settings(bucket), limits={"free_bytes": 0})
    yield made
    made.close()


@pytest.fixture
def operated(moto: Moto, bucket: str, sqlite_url: str, tmp_path: Path) -> Iterator[Operated]:
    """A server with its files, and a bucket."""
    made = Operated(tmp_path, sqlite_url)
    made.configure(**{f"s3.{name}": value for name, value in moto.settings(bucket).items()})
    made.world.close()
    made.world = World(made.data, sqlite_url, s3=moto.settings(bucket), limits={"free_bytes": 0})
    yield made
    made.close()


def objects(world: World) -> list[str]:
    """Every key of the bucket, except the one that names the owner."""
    every = [each["path"] for page in obstore.list(_bucket(world)._store) for each in page]  # noqa: SLF001 - all, not ours alone
    return [key for key in every if key != OWNER]


def _bucket(world: World) -> Bucket:
    found = storage_of(world.config, world.database)
    assert isinstance(found, Bucket)
    return found


def parts(world: World, trace: str) -> list[Part]:
    """The parts that the database names."""
    with world.database.reading() as session:
        rows = session.scalars(select(TracePart).order_by(TracePart.number))
        return [Part(UUID(trace), row.number, row.sha256) for row in rows]


def test_a_part_is_an_object_that_is_sealed_and_put_once(world: World) -> None:
    # given
    made = given_traces.uploaded(world, 2)
    made.put(2, size=3000)
    # when
    again = put_part(made.client, made.trace, 0, made.acknowledged[0])
    other = put_part(made.client, made.trace, 0, given_traces.part(7))
    # then
    assert (again.status_code, other.status_code) == (200, 409)
    storage, named = _bucket(world), parts(world, made.trace)
    assert objects(world) == [storage.key(part) for part in named]
    for part in named:
        content = storage.read(part)
        assert made.acknowledged[part.number][4:40] not in content
        assert given_traces.kept(world, made.trace, part.number) == made.acknowledged[part.number]
    assert len({each.bytes for each in storage.stored(UUID(made.trace))}) == 1, "sizes tell nothing"
    with pytest.raises(FileNotFoundError):
        storage.read(named[0]._replace(number=9))


def test_what_crashes_left_in_the_bucket_is_swept_away_after_a_month_and_nothing_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given
    made = given_traces.uploaded(world, 1)
    storage = _bucket(world)
    gone = UUID(int=8)
    for trace in (UUID(made.trace), UUID(int=7), gone):  # uploads killed before their rows
        storage.put(Part(trace, 0, "ab" * 32), b"sealed")
    with world.database.writing() as session:  # one trace was erased meanwhile
        jobs.ask(session, ERASING, "a withdrawal", session.scalars(select(Study.id)).one(), traces=[str(gone)])
    # when
    swept = upkeep.sweep(world.database, storage, older_than=0)
    # then
    assert (swept.unnamed, len(objects(world))) == (1, 3)
    later = now_us() + upkeep.WAIT_SECONDS * 1_000_000
    monkeypatch.setattr(upkeep, "now_us", lambda: later)
    assert upkeep.sweep(world.database, storage).unnamed == 2
    assert objects(world) == [storage.key(part) for part in parts(world, made.trace)]


def test_a_store_that_is_away_is_503_and_nothing_is_kept(sqlite_url: str, tmp_path: Path) -> None:
    # given
    with Moto(tmp_path) as store:
        store.make_bucket("happe")
        world = World(tmp_path, sqlite_url, s3=store.settings("happe"), limits={"free_bytes": 0})
        made = given_traces.begun(world)
        # when
        store.kill()
        answer = put_part(made.client, made.trace, 0, given_traces.part(0))
        # then
        assert answer.status_code == 503
        assert "store of the power traces" in answer.text
        assert parts(world, made.trace) == []
        findings = {each.what: each for each in check(tmp_path, world.config, world.database, deep=False)}
        assert findings["store"].verdict is Verdict.FAIL
        # when the store is back
        store.start()
        store.make_bucket("happe")
        made.put(0)
        assert given_traces.kept(world, made.trace, 0) == made.acknowledged[0]
    world.close()


def test_an_erasure_waits_for_the_store_and_is_audited_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # given
    made = given_traces.uploaded(world, 2)
    with world.database.writing() as session:
        study = session.scalars(select(Study)).one()
        jobs.ask(session, ERASING, "a withdrawal", study.id, traces=[made.trace])
    real, failures = Bucket.remove, iter([True, True, False])

    def remove(self: Bucket, trace: UUID) -> None:
        if next(failures):
            raise AwayError("not now")
        real(self, trace)

    monkeypatch.setattr(Bucket, "remove", remove)
    monkeypatch.setattr("happe_study.operations.worker.AWAY_SECONDS", (0.0,))
    # when
    assert given_jobs.work_off(world) == [JobState.DONE]
    # then
    assert objects(world) == []
    assert given_jobs.job(world).tries == 1


def findings(operated: Operated, *, deep: bool = False) -> dict[str, list[Finding]]:
    """The findings of `check` about the store and the traces."""
    found = check(operated.file, operated.world.config, operated.world.database, deep=deep)
    grouped: dict[str, list[Finding]] = {"store": [], "traces": []}
    for each in found:
        grouped.setdefault(each.what, []).append(each)
    return grouped


def test_check_covers_the_bucket(operated: Operated, moto: Moto) -> None:
    made = given_traces.uploaded(operated.world, 3)
    storage, named = _bucket(operated.world), parts(operated.world, made.trace)
    found = findings(operated, deep=True)
    assert [each.verdict for each in found["store"] + found["traces"]] == [Verdict.OK, Verdict.OK]
    assert "3 parts" in found["traces"][0].detail
    # a part is missing, and another has wrong bytes of the same size
    size = storage.stored(UUID(made.trace))[0].bytes
    obstore.delete(storage._store, storage.key(named[0]))  # noqa: SLF001 - what somebody does to the bucket
    obstore.put(storage._store, storage.key(named[1]), bytes(size))  # noqa: SLF001
    assert [each.detail.split()[0] for each in findings(operated)["traces"]] == [f"{made.trace}/0"]
    said = [each.detail for each in findings(operated, deep=True)["traces"]]
    assert said == [f"{made.trace}/0 is missing", f"{made.trace}/1 differs from what the server received"]
    # a bucket that keeps erased objects, and one that does not exist
    moto.make_bucket("versions", versions=True)
    for bucket, says in (("versions", "it keeps versions, so erased data would stay"), ("nowhere", "can't be used")):
        operated.configure(**{f"s3.{name}": value for name, value in moto.settings(bucket).items()})
        ran = operated.run("check", "--json")
        told = [each for each in json.loads(ran.out) if each["what"] == "store"]
        assert [each["verdict"] for each in told] == ["fail"]
        assert says in told[0]["detail"]


def test_a_backup_names_the_objects_and_restoring_reads_them(operated: Operated, tmp_path: Path) -> None:
    # given
    world = operated.world
    made = given_traces.uploaded(world, 3)
    place = tmp_path / "backup.tar"
    written = backups.make(backups.Source(world.config, fixed_secrets(), world.database), place, with_secrets=True)
    assert [each.key for each in written.objects] == objects(world)
    assert not (place / "traces").exists()
    # when
    for lost in ([], [0]):
        if lost:  # erased since the backup
            storage = _bucket(world)
            storage.drop(storage.key(parts(world, made.trace)[0]))
        data = tmp_path / f"restored-{len(lost)}"
        config = world.config.model_copy(update={"data": data, "database_url": f"sqlite:///{data}/server.db"})
        done = restoring.restore(config, place)
        # then
        assert done.is_whole
        assert [key.split("/")[2][:5] for key in done.lost] == [f"{number:05d}" for number in lost]
    near = world.config.model_copy(update={"data": tmp_path / "near", "database_url": None, "s3": None})
    with pytest.raises(NoBackupError, match="add \\[s3\\]"):
        restoring.restore(near, place)


class Copy(Operated):
    """A server that was restored from a backup, with the bucket of the backup's server."""

    def __init__(self, folder: Path, backup: Path, s3: dict[str, str]) -> None:
        folder.mkdir()
        self.data, self.file = folder / "data", folder / "server.toml"
        self.database_url = f"sqlite:///{self.data}/server.db"
        self.configure(**{f"s3.{name}": value for name, value in s3.items()})
        self.done("restore", backup)
        self.world = World(self.data, self.database_url, s3=s3, limits={"free_bytes": 0})


@dataclass
class Rehearsal:
    """A server with a trace, two copies that were restored from its backup, and parts that arrived after the backup."""

    live: Operated
    copies: list[Copy]
    meter: Uploading

    def sends(self, server: Operated, number: int) -> int:
        """Send the meter's next part to one of the servers. Returns the answer's status."""
        client = server.world.client()
        client.environ_base |= self.meter.client.environ_base
        return put_part(client, self.meter.trace, number, given_traces.part(number)).status_code


@pytest.fixture
def rehearsal(operated: Operated, moto: Moto, bucket: str, tmp_path: Path) -> Iterator[Rehearsal]:
    meter, backup = given_traces.uploaded(operated.world, 2), tmp_path / "backup.tar"
    said = operated.done("backup", backup, "--with-secrets").out
    assert "aws s3 sync" in said.splitlines()[0]
    copies = [Copy(tmp_path / f"copy-{number}", backup, moto.settings(bucket)) for number in range(2)]
    meter.put(2)
    meter.put(3)
    yield Rehearsal(operated, copies, meter)
    for each in copies:
        each.close()


def test_a_restored_copy_reads_the_bucket_and_changes_nothing_there(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_module, "LEFT_ALONE_SECONDS", -1)
    live, copy, trace = rehearsal.live.world, rehearsal.copies[0], UUID(rehearsal.meter.trace)
    with copy.world.database.reading() as session:
        study = session.scalars(select(Study)).one()
    person, _token = given_participants.participant(copy.world, study)
    there, storage, (part, _other) = objects(live), _bucket(copy.world), parts(copy.world, str(trace))
    staff = copy.world.staff(Role.ADMINISTRATOR, Role.INVESTIGATOR)
    # it reads, and advises nothing that would harm
    assert given_traces.kept(copy.world, str(trace), 0) == rehearsal.meter.acknowledged[0]
    checked = copy.done("check", "--deep").out
    assert "does not know" in checked
    assert "belongs to the server of another database" in checked
    assert "--sweep" not in checked
    # neither a command, nor a meter, nor a person, nor a job, nor any method changes anything
    swept = copy.run("check", "--sweep")
    assert (swept.status, "takeover" in swept.err) == (77, True)
    assert rehearsal.sends(copy, 4) == 503
    path = f"/api/v1/studies/small/participants/{person.code}/withdrawal"
    answer = staff.post(path, json={"confirm": person.code})
    assert (answer.status_code, "Another server owns the power traces" in answer.text) == (503, True)
    with copy.world.database.writing() as session:
        assert session.get_one(Participant, person.id).state == person.state
        jobs.ask(session, ERASING, "a withdrawal", person.study_id, traces=[str(trace)])
    assert given_jobs.work_off(copy.world) == [JobState.FAILED]
    assert "belongs to the server of another database" in str(given_jobs.job(copy.world).failed)
    assert "traces.erased" not in copy.world.actions()
    for change in (
        lambda: storage.put(part, b"sealed"),
        lambda: storage.drop(storage.key(part)),
        lambda: storage.remove(trace),
        storage.fault,
    ):
        with pytest.raises(NotOwnerError):
            change()
    assert objects(live) == there
    assert rehearsal.sends(rehearsal.live, 4) == 201


def test_who_takes_the_bucket_over_changes_it_and_the_former_owner_does_not(
    rehearsal: Rehearsal, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_module, "LEFT_ALONE_SECONDS", -1)
    live, (copy, other) = rehearsal.live, rehearsal.copies
    assert copy.run("takeover", typed="happe\n").status == 65
    assert rehearsal.sends(live, 4) == 201
    # when
    copy.done("takeover", typed=f"{bucket}\n")
    # then
    assert [rehearsal.sends(server, 5) for server in (live, other, copy)] == [503, 503, 201]
    sealed = put_seal(rehearsal.meter.client, records.power_manifest(1, trace=rehearsal.meter.trace))
    assert sealed.status_code == 503, "the meter would delete its samples"
    assert "belongs to this server already" in copy.done("takeover").out
    assert "bucket.taken" in copy.world.actions()
    assert live.run("check", "--sweep").status == 77
    assert {each.verdict for each in findings(copy)["store"]} == {Verdict.OK}
    # what the copy does not know stays for a month, in which the former owner can take the bucket back
    copy.done("check", "--sweep")
    live.done("takeover", typed=f"{bucket}\n")
    assert {each.verdict for each in findings(live, deep=True)["traces"]} == {Verdict.WARN}, "the copy's part 5"
    for number, content in rehearsal.meter.acknowledged.items():
        assert given_traces.kept(live.world, rehearsal.meter.trace, number) == content


def test_of_those_who_take_an_owner_away_at_the_same_time_one_succeeds(rehearsal: Rehearsal) -> None:
    one, other = (_bucket(copy.world) for copy in rehearsal.copies)
    former = one.owner()
    one.take(former)
    with pytest.raises(NotOwnerError, match="another owner meanwhile"):
        other.take(former)
    one.require_owner()


def test_a_bucket_with_parts_but_without_owner_waits_for_the_command(rehearsal: Rehearsal, bucket: str) -> None:
    for copy, damage in zip(rehearsal.copies, (None, b"{}"), strict=True):
        store = _bucket(copy.world)._store  # noqa: SLF001 - what somebody does to the bucket
        obstore.delete(store, OWNER) if damage is None else obstore.put(store, OWNER, damage)
        assert rehearsal.sends(copy, 4) == 503
        checked = copy.run("check")
        assert (checked.status, "takeover" in checked.out) == (1, True)
        copy.done("takeover", typed=f"{bucket}\n")
        assert rehearsal.sends(copy, 4) == 201


def test_credentials_come_from_a_file_or_the_environment(
    moto: Moto, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sqlite_template: Path
) -> None:
    file, settings = tmp_path / "credentials", moto.settings(bucket)
    file.write_text("[default]\naws_access_key_id = a\n")

    def storage(**more: str) -> object:
        world = World(tmp_path, sqlite_copy(sqlite_template, tmp_path), s3=settings | more)
        try:
            return storage_of(world.config, world.database)
        finally:
            world.close()

    file.chmod(0o644)
    with pytest.raises(ConfigError, match="others can read it"):
        storage(credentials_file=str(file))
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="aws_secret_access_key must be there"):
        storage(credentials_file=str(file))
    file.write_text("what?")
    with pytest.raises(ConfigError, match="is not in the format"):
        storage(credentials_file=str(file))
    del settings["credentials_file"]
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    with pytest.raises(ConfigError, match="the environment: AWS_ACCESS_KEY_ID"):
        storage()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    found = storage()
    assert isinstance(found, Bucket)
    assert found.fault() is None


def test_two_buckets_that_differ_in_the_allocation_alone_have_objects_of_the_same_sizes(
    moto: Moto, tmp_path: Path, sqlite_template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = []
    for name, seed in SOME_DIFFER:
        # Given two servers with the same history, except for allocations and power
        folder = tmp_path / name
        folder.mkdir()
        moto.make_bucket(f"alike-{name}")
        same_chances(monkeypatch, 1)
        settings = moto.settings(f"alike-{name}")
        made = server(folder, sqlite_copy(sqlite_template, folder), seed, s3=settings)
        # When we list and back up their objects
        storage = storage_of(made.world.config, made.world.database)
        listed = [(each.key, each.bytes) for trace in storage.traces() for each in storage.stored(trace)]
        source = backups.Source(made.world.config, fixed_secrets(), made.world.database)
        kept = backups.make(source, folder / "backup.tar")
        made.world.close()
        # Then they differ only in digests
        assert sorted(listed) == sorted((each.key, each.size) for each in kept.objects)
        there.append([(masked(key.encode()), size) for key, size in sorted(listed)])
        there[-1] += [(masked(each.key.encode()), each.size) for each in kept.objects]
        there[-1] += [(each.path.encode(), each.size) for each in kept.files]
    assert there[0] == there[1]
    assert len([key for key, _size in there[0] if key.endswith(b"<sha256>.sealed")]) == 2 * 2
