# SPDX-License-Identifier: GPL-2.0-or-later
"""Power traces in an S3 bucket: receiving, reading, checking, sweeping, erasing, backing up; a store that is away."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING
from uuid import UUID

import obstore
import pytest
from sqlalchemy import select

import given_jobs
import given_traces
from given_devices import put_part
from happe_study.base.config import ConfigError
from happe_study.base.s3 import AwayError
from happe_study.design.study import Study
from happe_study.evidence.traces import upkeep
from happe_study.evidence.traces.bucket import Bucket
from happe_study.evidence.traces.erased import ERASING
from happe_study.evidence.traces.models import TracePart
from happe_study.evidence.traces.storage import Part
from happe_study.evidence.traces.stores import storage_of
from happe_study.jobs import services as jobs
from happe_study.jobs.models import JobState
from happe_study.operations.backup import making, restoring
from happe_study.operations.backup.manifest import NoBackupError
from happe_study.operations.checking import Verdict, check
from leaks import SOME_DIFFER, masked, same_chances, server
from operated import Operated
from s3_stores import Moto
from world import World, fixed_secrets, sqlite_copy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from happe_study.operations.checking import Finding

pytestmark = pytest.mark.slow

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
    """Every key of the bucket."""
    return [each["path"] for page in obstore.list(_bucket(world)._store) for each in page]  # noqa: SLF001 - all, not ours alone


def _bucket(world: World) -> Bucket:
    found = storage_of(world.config)
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
    assert not storage.unfinished()
    for part in named:
        with storage.open(part) as file:
            content = file.read()
        assert made.acknowledged[part.number][4:40] not in content
        assert given_traces.kept(world, made.trace, part.number) == made.acknowledged[part.number]
    assert len({each.bytes for each in storage.stored(UUID(made.trace))}) == 1, "sizes tell nothing"
    with pytest.raises(FileNotFoundError):
        storage.open(named[0]._replace(number=9))


def test_a_summary_lies_beside_its_part_and_goes_with_its_trace(world: World) -> None:
    made = given_traces.uploaded(world, 1)
    storage, (part,) = _bucket(world), parts(world, made.trace)
    with pytest.raises(FileNotFoundError):
        storage.summary(part)
    for content in (b"watts", b"other watts"):
        storage.keep_summary(part, content)
        assert storage.summary(part) == content
    assert [each.key for each in storage.stored(part.trace)] == [storage.key(part)]
    storage.remove(part.trace)
    assert objects(world) == []


def test_what_crashes_left_in_the_bucket_is_swept_away_and_nothing_else(world: World, tmp_path: Path) -> None:
    # given
    made = given_traces.uploaded(world, 1)
    storage, left = _bucket(world), tmp_path / "left"
    left.write_bytes(b"sealed")
    for trace in (UUID(made.trace), UUID(int=7)):  # uploads killed before their rows; one trace was erased meanwhile
        storage.bring(Part(trace, 0, "ab" * 32), left)
    dead = storage.staging(UUID(int=7)) / "00000-abc.upload"
    dead.write_bytes(b"killed while it was received")
    # when
    swept = upkeep.sweep(world.database, storage, older_than=0)
    # then
    assert (swept.unfinished, swept.unnamed) == (1, 2)
    assert objects(world) == [storage.key(part) for part in parts(world, made.trace)]
    assert not dead.exists()
    with pytest.raises(AwayError, match="not in the store any more"):  # a sweep took the upload's object
        storage.keep(Part(UUID(made.trace), 0, "ab" * 32), left)


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
        assert not _bucket(world).unfinished()
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
    monkeypatch.setattr("happe_study.operations.working.process.AWAY_SECONDS", (0.0,))
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
    place = tmp_path / "backup"
    written = making.make(making.Source(world.config, fixed_secrets(), world.database), place, with_secrets=True)
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


def test_credentials_come_from_a_file_or_the_environment(
    moto: Moto, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sqlite_template: Path
) -> None:
    file, settings = tmp_path / "credentials", moto.settings(bucket)
    file.write_text("[default]\naws_access_key_id = a\n")

    def storage(**more: str) -> object:
        world = World(tmp_path, sqlite_copy(sqlite_template, tmp_path), s3=settings | more)
        try:
            return storage_of(world.config)
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
        storage = storage_of(made.world.config)
        listed = [(each.key, each.bytes) for trace in storage.traces() for each in storage.stored(trace)]
        source = making.Source(made.world.config, fixed_secrets(), made.world.database)
        kept = making.make(source, folder / "backup")
        made.world.close()
        # Then they differ only in digests
        assert sorted(listed) == sorted((each.key, each.size) for each in kept.objects)
        there.append([(masked(key.encode()), size) for key, size in sorted(listed)])
        there[-1] += [(masked(each.key.encode()), each.size) for each in kept.objects]
        there[-1] += [(each.path.encode(), each.size) for each in kept.files]
    assert there[0] == there[1]
    assert len([key for key, _size in there[0] if key.endswith(b"<sha256>.sealed")]) == 2 * 2
