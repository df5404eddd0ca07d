# SPDX-License-Identifier: GPL-2.0-or-later
"""Backups that workers make are whole, or do not exist, whatever happens to the worker."""

import os
import resource
import signal
from pathlib import Path

import pytest
from sqlalchemy import update

import given_jobs
import given_traces
from happe_cli.disk import UNFINISHED
from happe_study.model.jobs.models import JobState
from happe_study.model.traces import TracePart
from happe_study.operations import backup as backing
from happe_study.operations.worker import FULL_DISK, do
from happe_study.study.traces.stores import storage_of
from operated import Operated
from patience import until
from test_backup import Elsewhere, files_of
from test_backup import elsewhere as elsewhere  # noqa: PLC0414 - a fixture
from world import World


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder for the backups of jobs."""
    made = tmp_path / "backups"
    made.mkdir()
    return made


def ask(operated: Operated, folder: Path) -> Path:
    """Ask for a backup by the command, and return its future place."""
    operated.configure(backups=str(folder))
    operated.world.close()
    operated.world = World(operated.data, operated.database_url, backups=folder, limits={"free_bytes": 0})
    asked: dict[str, str] = operated.done("backup", "--job", "--json").json()
    assert asked["backup"].startswith(str(folder))
    return folder / asked["backup"]


def say_size(operated: Operated, size: int) -> None:
    """Change the size that the database has of every part."""
    with operated.world.database.writing() as session:
        session.execute(update(TracePart).values(bytes=size))


@pytest.mark.slow
def test_a_backup_of_a_job_restores_though_its_worker_is_killed(
    operated: Operated, elsewhere: Elsewhere, folder: Path, tmp_path: Path
) -> None:
    meter = given_traces.uploaded(operated.world, 2)
    # Given a worker that is killed in the middle of the backup: a pipe in place of a part keeps it there
    part = meter.files[0]
    content = part.read_bytes()
    say_size(operated, 0)  # a pipe's
    part.unlink()
    os.mkfifo(part)
    place = ask(operated, folder)
    with given_jobs.Working(operated.world.config, tmp_path / "log") as worker:
        until(lambda: any(folder.glob(f".{place.name}-*{UNFINISHED}/backup")), "the copy of the database")
        (running,) = worker.children()
        worker.process.kill()
        worker.process.wait()
        os.kill(running, signal.SIGKILL)  # or else it would wait at the pipe for ever
    part.unlink()
    part.write_bytes(content)
    say_size(operated, len(content))
    # Then no backup has its name
    assert not place.exists()
    # When another worker starts the job again
    given_jobs.worker_died(operated.world)
    again = given_jobs.taken(operated.world)
    (tmp_path / "again").mkdir()
    do(operated.world.app.extensions["happe"], again, tmp_path / "again")
    ended = given_jobs.job(operated.world)
    assert (ended.state, ended.failed, ended.tries) == (JobState.DONE, None, 2)
    # Then the folder has only this backup, without secrets, and it restores
    assert list(folder.iterdir()) == [place]
    assert not [name for name in files_of(place) if name.startswith("secrets")]
    elsewhere.give_secrets(operated)
    assert elsewhere.run("restore", place).status == 0
    assert elsewhere.run("check", "--deep").status == 0
    assert len(list((elsewhere.data / "traces").rglob("*.sealed"))) == len(meter.acknowledged)


def test_a_job_finds_the_backup_of_a_try_that_ended_before_it_was_noted(operated: Operated, folder: Path) -> None:
    given_traces.uploaded(operated.world, 1)
    place = ask(operated, folder)
    again = operated.run("backup", "--job")
    assert (again.status, backing.RUNNING in again.err) == (65, True)
    first = given_jobs.taken(operated.world)
    parts = operated.world.app.extensions["happe"]
    do(parts, first, folder)
    written = place.read_bytes()
    with operated.world.database.writing() as session:
        session.merge(first).state = JobState.WAITING
    # When a worker does the job again
    assert given_jobs.work_off(operated.world) == [JobState.DONE]
    assert place.read_bytes() == written
    (listed,) = operated.done("job", "list", "--json").json()
    assert (listed["title"], listed["study"]) == (f"Backup {place.name}", None)


def test_a_backup_of_a_job_says_what_is_wrong(operated: Operated, folder: Path) -> None:
    world = operated.world
    given_traces.uploaded(world, 1).put(1, 4_000_000)
    for arguments in ((), (folder / "x", "--job"), ("--job", "--with-secrets")):
        wrong = operated.run("backup", *arguments)
        assert (wrong.status, "give FILE.tar or --job" in wrong.err) == (64, True)
    unset = operated.run("backup", "--job")
    assert (unset.status, backing.NO_FOLDER in unset.err) == (78, True)
    # When files can't be longer than half of a part, as on a full disk
    place = ask(operated, folder)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, before[1]))
    try:
        assert given_jobs.work_off(operated.world) == [JobState.FAILED]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert given_jobs.job(operated.world).failed == FULL_DISK
    assert list(folder.iterdir()) == []
    # When the folder is missing, or the configuration names none
    operated.done("job", "retry", "1")
    operated.world.close()
    for told, said in ((folder / "no", "no such folder"), (None, "names no folder")):
        operated.world = World(operated.data, operated.database_url, backups=told)
        given_jobs.work_off(operated.world)
        assert said in (given_jobs.job(operated.world).failed or "")
        operated.done("job", "retry", "1")
        operated.world.close()
    # When a part is lost, the backup has the rest
    next(storage_of(operated.world.config, operated.world.database).root.rglob("*.sealed")).unlink()
    place = folder / place.name
    operated.world = World(operated.data, operated.database_url, backups=folder)
    assert given_jobs.work_off(operated.world) == [JobState.FAILED]
    assert "which the server has lost or damaged" in (given_jobs.job(operated.world).failed or "")
    assert place.exists()
