# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs in tests: done at once in the test's process, or by a worker in another process."""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from sqlalchemy import select

from forked import Program, work_beside
from happe_study.base.config import Config
from happe_study.model.jobs import services
from happe_study.model.jobs.models import OPEN, Job
from happe_study.operations.worker import do
from patience import PATIENCE_S, until
from world import World


def work_off(world: World) -> list[str]:
    """Do every waiting job in this process, and return the states of all jobs, newest first."""
    parts = world.app.extensions["happe"]
    while (begun := services.take(world.database, "test")) is not None:
        with TemporaryDirectory() as folder:
            do(parts, begun, Path(folder))
    with world.database.reading() as session:
        return list(session.scalars(select(Job.state).order_by(Job.id.desc())))


def taken(world: World) -> Job:
    """Take the job that has waited longest."""
    begun = services.take(world.database, "test")
    assert begun is not None
    return begun


def worker_died(world: World, number: int = 1) -> None:
    """Let the time pass after which others take the job of a dead worker."""
    with world.database.writing() as session:
        job = session.get_one(Job, number)
        assert job.alive_us is not None
        job.alive_us -= services.STALLED_US


def job(world: World, number: int = 1) -> Job:
    """A job as it is now."""
    with world.database.reading() as session:
        found: Job = session.get_one(Job, number)
        return found


def until_ended(world: World, number: int = 1) -> Job:
    """Wait until a job has ended, and return it."""
    until(lambda: job(world, number).state not in OPEN, "a job's end")
    return job(world, number)


class Working:
    """A worker in a separate process. The secrets are in files."""

    def __init__(self, config: Config, log: Path) -> None:
        self.process = Program(work_beside, {"config": config.model_dump(mode="json")}, log=log)
        self.folder = config.data / "jobs"

    def children(self) -> list[int]:
        """The processes of the worker's jobs."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(each) for each in path.read_text().split() if _does_a_job(each)] if path.exists() else []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_S)


def _does_a_job(pid: str) -> bool:
    """Whether a process does a job. A worker has other children, too, such as multiprocessing's tracker."""
    with suppress(OSError):  # it has ended
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def left_behind(data: Path) -> Path:
    """Make the folder of a job whose worker has died."""
    folder = data / "jobs" / "1-0123456789abcdef"
    (folder / "export").mkdir(parents=True)
    (folder / "export/finished-ratings.csv").write_text("run,rating\n")
    return folder
