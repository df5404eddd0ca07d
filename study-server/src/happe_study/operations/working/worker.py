# SPDX-License-Identifier: GPL-2.0-or-later
"""A worker: it takes jobs, starts a process for each, and watches the process.

A server starts `python -m happe_study.operations.working.worker` beside itself; this worker ends with the server.
`happe-server worker` is a separate worker, on any machine that reaches the PostgreSQL database.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import shutil
import signal
import socket
import sys
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog
from procrastinate import App, PsycopgConnector, RetryStrategy
from procrastinate.exceptions import ConnectorException
from psycopg import pq
from sqlalchemy.exc import SQLAlchemyError

from happe_study.base import fingerprints
from happe_study.base.config import Config, Secrets, load_secrets
from happe_study.base.database import Database
from happe_study.jobs import services
from happe_study.jobs.queue import TASK
from happe_study.migrations import tables  # noqa: F401 - a job's row names rows of other tables
from happe_study.operations import logs
from happe_study.operations.working.order import Order
from happe_study.operations.working.parent import end_with
from happe_study.results.exports import stored
from happe_study.results.withdrawal import retention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_study.jobs.models import Job

log = structlog.get_logger(__name__)

LOOK_SECONDS = 1.0  # between looks for a waiting job (SQLite), and for the cancelling of a running one
BEAT_SECONDS = 5.0
GENTLE = 10  # niceness of worker and jobs, so that the server's processes answer first
STALLED_SECONDS = 30.0  # a worker without a heartbeat for so long is dead, and others get its jobs
DUE_SECONDS = 3600.0  # between looks for identities and exports that are due for removal
LOCK = "worker.lock"


class AgainError(Exception):
    """A job's process died before the job's end."""


class OtherWorkerError(Exception):
    """Another worker already works on this SQLite database."""


class LostError(Exception):
    """The worker lost the database. Other workers get its jobs."""


@dataclass(frozen=True)
class Worker:
    """A worker of a server's database, which does `at_once` jobs at a time."""

    config: Config
    secrets: Secrets
    database: Database
    at_once: int

    @property
    def name(self) -> str:
        """The worker's name for people: HOST:PID."""
        return f"{socket.gethostname()}:{os.getpid()}"

    @property
    def folder(self) -> Path:
        """The folder with the working folders of this machine's jobs."""
        return self.config.data / "jobs"

    async def work(self) -> None:
        """Work until cancelled. Raises OtherWorkerError, LostError."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with _alone(self.folder / LOCK) if self.database.is_sqlite else nullcontext():
            sweep(self.config.data)
            log.info("worker ready", worker=self.name, jobs_at_once=self.at_once)
            due = asyncio.create_task(self._ask_where_due())
            try:
                await (self._look() if self.database.is_sqlite else self._listen())
            finally:
                due.cancel()
                log.info("worker stopped", worker=self.name)

    async def _ask_where_due(self) -> None:
        """Each hour, remove old exports, and start the jobs that erase identities when a protocol's date has passed."""
        while True:
            try:
                await asyncio.to_thread(stored.remove_old, self.database)
                if asked := await asyncio.to_thread(retention.ask_where_due, self.database):
                    log.info("identities are due", studies=asked)
            except SQLAlchemyError as error:  # the database is busy or away; try again in an hour
                log.warning("could not look for what is due", error=type(error).__name__)
            await asyncio.sleep(DUE_SECONDS)

    async def _look(self) -> None:
        """On SQLite, poll for jobs. There is only one worker."""
        await asyncio.to_thread(services.take_back, self.database)
        running: dict[int, asyncio.Task[None]] = {}
        try:
            while True:
                running = {job: task for job, task in running.items() if not task.done()}
                free = len(running) < self.at_once
                job = await asyncio.to_thread(services.waiting, self.database, list(running)) if free else None
                if job is None:
                    await asyncio.sleep(LOOK_SECONDS)
                else:
                    running[job] = asyncio.create_task(self._again(job))
        finally:
            for task in running.values():
                task.cancel()
            await asyncio.gather(*running.values(), return_exceptions=True)

    async def _again(self, job_id: int) -> None:
        try:
            await self.do(job_id)
        except AgainError:
            log.warning("job waits again", job=job_id)

    async def _listen(self) -> None:
        """On PostgreSQL, get jobs from Procrastinate, including those of dead workers."""
        app = App(connector=PsycopgConnector(kwargs=_access(self.database), min_size=1))

        @app.task(name=TASK, retry=RetryStrategy(wait=1))
        async def do(job: int) -> None:
            await self.do(job)

        async with app.open_async():
            looking = asyncio.create_task(_give_on(app))
            try:
                await app.run_worker_async(
                    name=self.name,
                    concurrency=self.at_once,
                    delete_jobs="always",
                    install_signal_handlers=False,
                    shutdown_graceful_timeout=0,
                    update_heartbeat_interval=BEAT_SECONDS,
                    stalled_worker_timeout=STALLED_SECONDS,
                    fetch_job_polling_interval=LOOK_SECONDS,
                )
            finally:
                looking.cancel()
        raise LostError

    async def do(self, job_id: int) -> None:
        """Have a process do a job. If the process dies, the job waits again, and this raises AgainError."""
        job = await self._taken(job_id)
        if job is None:
            return
        assert job.lease is not None  # noqa: S101 - the worker has taken the job
        with _folder(self.folder / f"{job_id}-{job.lease}") as folder:
            log.info("job begins", job=job_id, kind=job.kind, attempt=job.tries)
            order = Order(
                self.config.model_dump(mode="json"), self._told(), job_id, job.lease, str(folder), os.getpid()
            )
            try:
                await self._watched(order)
            finally:
                back = await asyncio.shield(asyncio.to_thread(services.let_go, self.database, job_id, order.lease))
        log.info("job ended", job=job_id, kind=job.kind, again=back)
        if back:
            raise AgainError(f"the process of job {job_id} died")

    async def _taken(self, job_id: int) -> Job | None:
        """Take a job, if it is open. If the worker must stop meanwhile, return the job to the waiting ones."""
        taking = asyncio.create_task(asyncio.to_thread(services.take, self.database, job_id, self.name))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            job = await asyncio.shield(taking)
            if job is not None and job.lease is not None:
                await asyncio.shield(asyncio.to_thread(services.let_go, self.database, job_id, job.lease))
            raise

    def _told(self) -> dict[str, str]:
        return {name: secret.hex() for name, secret in asdict(self.secrets).items()}

    async def _watched(self, order: Order) -> None:
        """Start the process and wait for its end. Kill it if the job loses its lease, as when somebody cancels it."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "happe_study.operations.working.process",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            cwd=order.folder,
            env=_variables(self.folder),
            start_new_session=True,
        )
        _give_way(process.pid)
        ended = asyncio.create_task(process.communicate(order.encoded()))
        try:
            while not ended.done():
                await asyncio.wait({ended}, timeout=LOOK_SECONDS)
                if not await asyncio.to_thread(services.is_held, self.database, order.job, order.lease):
                    await asyncio.wait({ended}, timeout=LOOK_SECONDS)  # it may be about to end
                    break
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(ended)


def _give_way(pid: int) -> None:
    """Lower a session's priority. If the kernel groups by session (sched(7)), niceness counts only within a session."""
    with suppress(OSError):  # it has ended, or the kernel has no groups
        Path(f"/proc/{pid}/autogroup").write_text(str(GENTLE), encoding="ascii")


def _variables(folder: Path) -> dict[str, str]:
    """The environment of a job's process."""
    ours = {"PYTHONPATH": os.pathsep.join(sys.path), "MPLCONFIGDIR": str(folder / ".matplotlib")}
    return {**os.environ, **ours, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


async def _give_on(app: App) -> None:
    """Give the jobs of dead workers to others, every few seconds."""
    while True:
        await asyncio.sleep(BEAT_SECONDS)
        for job in await app.job_manager.get_stalled_jobs(seconds_since_heartbeat=STALLED_SECONDS):
            with suppress(ConnectorException):  # another worker was faster
                await app.job_manager.retry_job(job)


def _access(database: Database) -> dict[str, Any]:
    """The parameters by which libpq reaches the database."""
    _arguments, every = database.engine.dialect.create_connect_args(database.url)
    known = {option.keyword.decode() for option in pq.Conninfo.get_defaults()}  # the others are SQLAlchemy's
    return {name: value for name, value in every.items() if name in known}


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """A folder that the block's end removes. Its lock tells `sweep` that no dead worker left it."""
    path.mkdir(mode=0o700)
    with _open(path) as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _open(path: Path) -> Iterator[int]:
    held = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield held
    finally:
        os.close(held)


def sweep(data: Path) -> None:
    """Remove the folders that dead workers left, because they contain people's data. Folders of running jobs stay."""
    shutil.rmtree(data / "reports", ignore_errors=True)  # of version 0.1
    for path in (data / "jobs").glob("[0-9]*-*"):
        with suppress(FileNotFoundError, BlockingIOError), _open(path) as held:  # another sweep may be faster
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OtherWorkerError from None
        yield


def run(config: Config, secrets: Secrets, at_once: int) -> None:
    """Work until SIGTERM or SIGINT. Raises OtherWorkerError, LostError, ConfigError."""
    with suppress(OSError):
        os.nice(GENTLE)
    logs.configure(config.log_level)
    database = Database(config.url, pool_size=at_once + 1)
    try:
        fingerprints.require(database, secrets)
        asyncio.run(_until_told(Worker(config, secrets, database, at_once)))
    finally:
        database.dispose()


async def _until_told(worker: Worker) -> None:
    working = asyncio.create_task(worker.work())
    for how in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(how, working.cancel)
    with suppress(asyncio.CancelledError):
        await working


def main() -> None:
    """Work beside the server whose configuration is the first line of standard input.

    This reads only a line, because a web worker that the server forks meanwhile may never close the pipe.
    """
    line = sys.stdin.buffer.readline()
    if not line:  # the server was killed before it wrote
        return
    told = json.loads(line)
    end_with(told["parent"], signal.SIGTERM)
    config = Config.model_validate(told["config"])
    with suppress(OtherWorkerError):
        run(config, load_secrets(config.secrets_folder), config.jobs)


if __name__ == "__main__":
    main()
