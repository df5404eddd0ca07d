# SPDX-License-Identifier: GPL-2.0-or-later
"""A worker: it takes jobs from the database's queue, starts a process for each, and looks after the processes.

`happe-server run` has a worker, `python -m happe_study.operations.worker`, which ends with it. `happe-server worker` is
another one, on any machine that reaches the database. Each job has its own process, so a worker survives a job that
needs too much memory, and can end a job at any moment.
"""

import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, repeat
from multiprocessing.context import SpawnProcess
from pathlib import Path

import structlog
from sqlalchemy.exc import SQLAlchemyError

from happe_study.base import fingerprints
from happe_study.base.config import Config, Secrets, load_secrets
from happe_study.base.database import Database
from happe_study.base.parts import Parts
from happe_study.base.s3 import AwayError, NotOwnerError
from happe_study.model.jobs import services
from happe_study.model.jobs.models import Job
from happe_study.model.jobs.work import FailedError, GoneError, Kind, Work
from happe_study.operations import backup, logs
from happe_study.operations.migrations import tables  # noqa: F401 - a job's row names rows of other tables
from happe_study.results import job_kinds
from happe_study.results.exports import job as exports
from happe_study.results.withdrawal import retention
from happe_study.study.traces.storage import FULL

log = structlog.get_logger(__name__)

KINDS = {**job_kinds.KINDS, backup.KIND.name: backup.KIND}
LOOK_SECONDS = 1.0  # between looks for a waiting job, and for the end or the cancelling of a running one
DUE_SECONDS = 3600.0  # between looks for identities and exports that are due for removal
AWAY_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)  # pauses between tries while the store is away
FULL_DISK = "There was no room on the disk of the worker's machine."
SPAWN = multiprocessing.get_context("spawn")  # a new program has neither the worker's connections nor its locks


@dataclass(frozen=True)
class _Running:
    """A job, its process, and its folder."""

    job: int
    lease: str
    process: SpawnProcess
    folder: Path


class Worker:
    """A worker of a server's database, which does `at_once` jobs at a time."""

    def __init__(self, config: Config, secrets: Secrets, database: Database, at_once: int) -> None:
        """Take no job yet."""
        self._config = config
        self._secrets = secrets
        self._database = database
        self._at_once = at_once
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._running: list[_Running] = []
        self._due = 0.0  # when to look for what is due, by the monotonic clock

    def work(self, stopping: threading.Event, parent: int | None = None) -> None:
        """Work until told to stop, or until the process `parent` has ended. Unfinished jobs wait again."""
        (self._config.data / "jobs").mkdir(mode=0o700, exist_ok=True)
        sweep(self._database, self._config.data)
        log.info("worker ready", worker=self._name, jobs_at_once=self._at_once)
        try:
            while not stopping.is_set() and parent in {None, os.getppid()}:
                begun = False
                try:
                    self._look_for_due()
                    self._look_after_running()
                    begun = len(self._running) < self._at_once and self._begin()
                except SQLAlchemyError as error:  # the database is busy or away
                    log.warning("the database does not answer the worker", error=type(error).__name__)
                if not begun:
                    stopping.wait(LOOK_SECONDS)
        finally:
            for each in self._running:
                self._end(each)
            log.info("worker stopped", worker=self._name)

    def _look_for_due(self) -> None:
        """Each hour, remove old exports, and start the jobs that erase identities when a protocol's date has passed."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + DUE_SECONDS
        exports.remove_old(self._database)
        if asked := retention.ask_where_due(self._database):
            log.info("identities are due", studies=asked)

    def _begin(self) -> bool:
        """Start a process for a job. Returns False if no job waits."""
        job = services.take(self._database, self._name)
        if job is None or job.lease is None:
            return False
        if job.tries > 1:
            sweep(self._database, self._config.data)  # of a worker that died here
        folder = self._config.data / "jobs" / f"{job.id}-{job.lease}"
        folder.mkdir(mode=0o700)
        order = (self._config, self._secrets, job.id, job.lease, folder)
        process = SPAWN.Process(target=_do_ordered, args=order)
        process.start()
        self._running.append(_Running(job.id, job.lease, process, folder))
        log.info("job begins", job=job.id, kind=job.kind, attempt=job.tries)
        return True

    def _look_after_running(self) -> None:
        """Keep the leases of running jobs. End the process of a job without its lease, as when it is cancelled."""
        for each in list(self._running):
            if not each.process.is_alive() or not services.beat(self._database, each.job, each.lease):
                each.process.join(LOOK_SECONDS)  # it may be about to end
                self._end(each)
                self._running.remove(each)

    def _end(self, running: _Running) -> None:
        running.process.kill()
        running.process.join()
        shutil.rmtree(running.folder, ignore_errors=True)
        again = services.let_go(self._database, running.job, running.lease)
        log.info("job ended", job=running.job, again=again)


def _do_ordered(config: Config, secrets: Secrets, job_id: int, lease: str, folder: Path) -> None:
    """Do a job in its own process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the worker decides
    logs.configure(config.log_level)
    server = Parts(config, secrets, Database(config.url, pool_size=1))
    with server.database.reading() as session:
        job = session.get(Job, job_id)
    if job is not None and job.lease == lease:
        do(server, job, folder)
    server.database.dispose()


def do(server: Parts, job: Job, folder: Path) -> None:
    """Do a job that the worker took, and store how it ended."""
    assert job.lease is not None  # noqa: S101 - the worker has taken the job
    try:
        _run(KINDS[job.kind], Work(server, job, folder))
    except GoneError:
        return
    except (FailedError, NotOwnerError) as error:
        why = str(error)
    except ModuleNotFoundError as error:
        why = f"The Python package {error.name} is missing: install happe-study-server[analysis]."
    except MemoryError:
        why = "There was not enough memory."
    except Exception as error:  # whatever it is, somebody waits for it
        log.exception("job failed", job=job.id, kind=job.kind)
        full = isinstance(error, OSError) and error.errno in FULL
        why = FULL_DISK if full else f"The program has a fault: {type(error).__name__}. Please report it."
    else:
        return
    services.fail(server.database, job.id, job.lease, why)


def _run(kind: Kind, work: Work) -> None:
    """Run the kind's function, and again from its beginning while the store of power traces is away.

    Raises what the function raises. If somebody cancels the job, the next report of progress raises GoneError.
    """
    for pause in chain(AWAY_SECONDS, repeat(AWAY_SECONDS[-1])):
        try:
            kind.run(work)
        except AwayError as error:
            log.warning("job waits for the store", job=work.id, kind=kind.name, reason=str(error))
            work.doing("waiting for the store of power traces")
            time.sleep(pause)
        else:
            return


def sweep(database: Database, data: Path) -> None:
    """Remove the folders that dead workers left, because they contain people's data. Folders of running jobs stay."""
    held = services.leases(database)
    for path in (data / "jobs").glob("[0-9]*-*"):
        if path.name.partition("-")[2] not in held:
            shutil.rmtree(path, ignore_errors=True)


def run(config: Config, secrets: Secrets, at_once: int, parent: int | None = None) -> None:
    """Work until SIGTERM or SIGINT, or until the process `parent` has ended. Raises ConfigError."""
    logs.configure(config.log_level)
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    os.environ["MPLCONFIGDIR"] = str(config.data / "jobs" / ".matplotlib")
    stopping = threading.Event()
    for how in (signal.SIGTERM, signal.SIGINT):
        signal.signal(how, lambda *_signal: stopping.set())
    database = Database(config.url, pool_size=1)
    try:
        fingerprints.require(database, secrets)
        Worker(config, secrets, database, at_once).work(stopping, parent)
    finally:
        database.dispose()


def start(config: Config) -> subprocess.Popen[bytes]:
    """Start a worker's process, which ends with this one."""
    process = subprocess.Popen(
        [sys.executable, "-m", "happe_study.operations.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdin is not None  # noqa: S101 - a pipe
    order = {"config": config.model_dump(mode="json"), "parent": os.getpid()}
    with suppress(BrokenPipeError), process.stdin:  # the worker's log says why it died
        process.stdin.write(json.dumps(order).encode())
    return process


def main() -> None:
    """Work for the server whose configuration is on standard input."""
    order = json.loads(sys.stdin.buffer.read())
    config = Config.model_validate(order["config"])
    run(config, load_secrets(config.secrets_folder), config.jobs, order["parent"])


if __name__ == "__main__":
    main()
