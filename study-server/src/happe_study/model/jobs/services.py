# SPDX-License-Identifier: GPL-2.0-or-later
"""The queue of jobs, a table: asking for jobs, taking, finishing, cancelling and retrying them.

A worker takes a job with a new lease, and says every few seconds that it is alive. The job of a worker that has not
said so for STALLED_US is taken by another one. Progress and effects count only under the lease in the job's row
(work.py). So a job takes effect once, even if its worker is cut off for a while and another worker has begun it again.
"""

import secrets
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Select, and_, delete, not_, or_, select, text, update
from sqlalchemy.orm import Session, defer

from happe_study.base.clock import now_us
from happe_study.base.database import BEGIN_JOB, FOR_CHANGE, Database
from happe_study.base.problems import conflict, not_found
from happe_study.model.jobs.models import OPEN, Job, JobState
from happe_study.model.studies import Study

KEPT = 20  # jobs kept of a kind and study; a new job removes older ones with their results
MOST_TRIES = 5
BEAT_US = 5_000_000  # a worker says so often that it is alive
STALLED_US = 30_000_000  # a worker that has not said so for this time is dead
LONGEST = 2000  # characters of a job's reason for failing
ENDED = (
    f"Its process ended {MOST_TRIES} times before it was done: perhaps the memory ran out. The worker's log says more."
)


def ask(session: Session, kind: str, asked_by: str, study_id: int | None = None, **arguments: Any) -> Job:  # noqa: ANN401 - JSON
    """Ask for a job. It starts after the transaction commits, when a worker is free."""
    job = Job(kind=kind, study_id=study_id, asked_by=asked_by, arguments=arguments, requested_us=now_us())
    session.add(job)
    _forget_old(session, kind, study_id)
    session.flush()
    return job


def _forget_old(session: Session, kind: str, study_id: int | None) -> None:
    mine = select(Job.id).where(Job.kind == kind, Job.study_id == study_id, Job.state.not_in(OPEN))
    old = session.scalars(mine.order_by(Job.id.desc()).offset(KEPT - 1)).all()
    # Not those that somebody has just begun to try again.
    ended = select(Job.id).where(Job.id.in_(old), Job.state.not_in(OPEN)).with_for_update(skip_locked=True)
    session.execute(delete(Job).where(Job.id.in_(ended)))


def alone(session: Session, study_id: int | None) -> None:
    """Let only this transaction begin a job of a study, or (None) of the server, until it ends.

    Whoever begins a job only if no other of its kind is open calls this, or locks the study, before `open_one`, and
    before any job is locked.
    """
    if study_id is not None:
        session.execute(select(Study.id).where(Study.id == study_id).with_for_update(**FOR_CHANGE))
    elif session.connection().dialect.name == "postgresql":
        session.execute(text(BEGIN_JOB))


def open_one(session: Session, kind: str, study_id: int | None, *, for_change: bool = False) -> Job | None:
    """The waiting or running job of a kind and study (None: of the server). `for_change` locks its row."""
    query = select(Job).where(Job.kind == kind, Job.study_id == study_id, Job.state.in_(OPEN)).order_by(Job.id)
    return session.scalars(query.with_for_update() if for_change else query).first()


def of_study(session: Session, study_id: int | None, kind: str | None = None, *, results: bool = True) -> Sequence[Job]:
    """The jobs of a study, or (None) of the server, newest first.

    Without `results`, the database sends a job's result only on access, because a result can be a megabyte.
    """
    query = select(Job).where(Job.study_id == study_id).order_by(Job.id.desc())
    query = query if results else query.options(defer(Job.result))
    return session.scalars(query if kind is None else query.where(Job.kind == kind)).all()


def find(session: Session, job_id: int, *, to_retry: bool = False) -> Job:
    """A job, its row locked for a change. `to_retry`: nobody else begins another one meanwhile. Raises Problem 404."""
    if to_retry:
        alone(session, session.scalar(select(Job.study_id).where(Job.id == job_id)))
    job = session.scalar(select(Job).where(Job.id == job_id).with_for_update())
    if job is None:
        raise not_found()
    return job


def finish(job: Job, result: dict[str, Any] | None) -> None:
    """Mark a locked job as done."""
    job.state, job.lease, job.finished_us = JobState.DONE, None, now_us()
    job.doing, job.result = "", result


def cancel(job: Job) -> None:
    """Cancel a job: it can no longer take effect, and its worker ends it. Raises Problem 409 if it has ended."""
    if job.state not in OPEN:
        raise conflict("job", f"The job is {job.state} already.")
    job.state, job.lease, job.finished_us = JobState.CANCELLED, None, now_us()


def retry(session: Session, job: Job) -> None:
    """Start a failed or cancelled job again, which `find` has found to retry.

    Raises Problem 409 for any other job, or if one of its kind is open.
    """
    if job.state not in (JobState.FAILED, JobState.CANCELLED):
        raise conflict("job", f"The job is {job.state}: only one that failed or was cancelled can be tried again.")
    if open_one(session, job.kind, job.study_id):
        raise conflict("job", "Another job of this kind is open. Wait until it is done, or cancel it.")
    job.state, job.tries, job.failed, job.finished_us = JobState.WAITING, 0, None, None


def forget(session: Session, study_id: int, kinds: Collection[str]) -> None:
    """Delete a study's jobs of these kinds with their results. Running jobs can no longer take effect."""
    session.execute(delete(Job).where(Job.study_id == study_id, Job.kind.in_(kinds)))


def take(database: Database, worker: str) -> Job | None:
    """Take the job that has waited longest, or one whose worker has died. None if there is none."""
    with database.looking_up() as session:  # so that a worker without work keeps no writer waiting
        if session.scalar(_free(session).with_only_columns(Job.id)) is None:
            return None
    with database.writing() as session:
        job = session.scalar(_free(session).with_for_update(skip_locked=True))
        if job is None:  # another worker was faster
            return None
        if job.tries >= MOST_TRIES:
            _fail(job, ENDED)
            return None
        job.state, job.lease, job.worker = JobState.RUNNING, secrets.token_hex(8), worker
        job.tries, job.started_us, job.alive_us = job.tries + 1, now_us(), _clock_us(session)
        job.step, job.steps, job.doing = 0, 0, "beginning"
        return job


def _free(session: Session) -> Select[Job]:
    clock_us = _clock_us(session)  # may have jumped either way since the worker's last sign
    alive = Job.alive_us.between(clock_us - STALLED_US, clock_us + STALLED_US)
    dead = and_(Job.state == JobState.RUNNING, not_(alive))
    return select(Job).where(or_(Job.state == JobState.WAITING, dead)).order_by(Job.id).limit(1)


def _clock_us(session: Session) -> int:
    """The time by the clock that all workers of the database share."""
    if session.get_bind().dialect.name == "postgresql":
        return int(session.scalars(text("SELECT extract(epoch FROM clock_timestamp()) * 1e6")).one())
    return now_us()


def beat(database: Database, job_id: int, lease: str) -> bool:
    """Say that the worker is alive. Returns whether the job still has this lease."""
    mine = Job.id == job_id, Job.lease == lease
    with database.looking_up() as session:
        last_us, clock_us = session.scalar(select(Job.alive_us).where(*mine)), _clock_us(session)
    if last_us is not None and abs(clock_us - last_us) > BEAT_US:
        with database.writing() as session:
            session.execute(update(Job).where(*mine).values(alive_us=clock_us))
    return last_us is not None


def let_go(database: Database, job_id: int, lease: str) -> bool:
    """Return an unfinished job to the waiting ones. Returns False if it no longer had this lease."""
    with database.writing() as session:
        mine = Job.id == job_id, Job.lease == lease
        back = update(Job).where(*mine).values(state=JobState.WAITING, lease=None).returning(Job.id)
        return session.scalar(back) is not None


def fail(database: Database, job_id: int, lease: str, why: str) -> None:
    """Mark a job as failed, if it still has this lease. `why` is for the person who asked for it."""
    with database.writing() as session:
        job = session.scalar(select(Job).where(Job.id == job_id, Job.lease == lease).with_for_update())
        if job is not None:
            _fail(job, why)


def _fail(job: Job, why: str) -> None:
    job.state, job.lease, job.finished_us, job.failed = JobState.FAILED, None, now_us(), why[:LONGEST]


def leases(database: Database) -> set[str]:
    """The leases of all running jobs."""
    with database.looking_up() as session:
        return set(session.scalars(select(Job.lease).where(Job.lease.is_not(None))))
