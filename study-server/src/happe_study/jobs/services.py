# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs: asking for them, taking, splitting, finishing, cancelling and retrying them.

A worker takes a job with a new lease. Progress and effects count only under the lease in the job's row (work.py). So a
job takes effect once, even if its worker is cut off for a while and another worker has begun it again.

A job may split itself into pieces, which are jobs, too. It waits for them without a process. When the last piece has
ended, the job begins again and combines their results. A transaction locks a whole job before its pieces.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, exists, func, select, text, update
from sqlalchemy.orm import aliased, defer

from happe_study.base.clock import now_us
from happe_study.base.database import BEGIN_JOB, FOR_CHANGE
from happe_study.base.problems import conflict, not_found
from happe_study.design.study import Study
from happe_study.jobs.models import OPEN, Job, JobState
from happe_study.jobs.queue import PIECE, deliver

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.orm import Session

    from happe_study.base.database import Database

KEPT = 20  # jobs kept of a kind and study; a new job removes older ones with their results
MOST_TRIES = 5
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
    deliver(session, job.id)
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
    query = select(Job).where(Job.study_id == study_id, Job.whole_id.is_(None)).order_by(Job.id.desc())
    query = query if results else query.options(defer(Job.result))
    return session.scalars(query if kind is None else query.where(Job.kind == kind)).all()


def find(session: Session, job_id: int, *, to_retry: bool = False) -> Job:
    """A job, its row locked for a change. `to_retry`: nobody else begins another one meanwhile. Raises Problem 404."""
    whole = Job.id == job_id, Job.whole_id.is_(None)
    if to_retry:
        alone(session, session.scalar(select(Job.study_id).where(*whole)))
    job = session.scalar(select(Job).where(*whole).with_for_update())
    if job is None:
        raise not_found()
    return job


def split(session: Session, job: Job, kind: str, pieces: Iterable[dict[str, Any]]) -> None:
    """Split a locked, running job: make a job of `kind` for each of `pieces`, which are the arguments."""
    made = [
        Job(
            kind=kind,
            study_id=job.study_id,
            whole_id=job.id,
            asked_by=job.asked_by,
            arguments=arguments,
            requested_us=now_us(),
        )
        for arguments in pieces
    ]
    session.add_all(made)
    job.lease, job.tries, job.step, job.steps = None, 0, 0, len(made)
    session.flush()
    for piece in made:
        deliver(session, piece.id, PIECE)


def results(database: Database, job_id: int) -> list[Any]:
    """The results of a job's pieces, in their order; empty if the job is not split."""
    with database.reading() as session:
        return list(session.scalars(select(Job.result).where(Job.whole_id == job_id).order_by(Job.id)))


def finish(session: Session, job: Job, result: dict[str, Any] | None) -> None:
    """Mark a locked job as done. After the last piece of a whole job, the whole job waits for a worker again."""
    job.state, job.lease, job.finished_us = JobState.DONE, None, now_us()
    job.doing, job.result = "", result
    session.flush()
    _drop_pieces(session, job.id)
    if job.whole_id is None:
        return
    whole = session.get_one(Job, job.whole_id)
    left = select(func.count()).where(Job.whole_id == whole.id, Job.state.in_(OPEN))
    whole.step = whole.steps - session.scalars(left).one()
    if whole.step == whole.steps:
        whole.state = JobState.WAITING
        deliver(session, whole.id)


def locked(session: Session, *which: ColumnElement[bool]) -> Job | None:
    """Lock a job for its worker. If it is a piece, lock its whole job first. None if there is no such job."""
    whole = select(Job.whole_id).where(*which).scalar_subquery()
    session.execute(select(Job.id).where(Job.id == whole).with_for_update())
    return session.scalar(select(Job).where(*which).with_for_update())


def _drop_pieces(session: Session, job_id: int) -> None:
    """Delete the pieces of a job. Pieces that are running can no longer take effect."""
    session.execute(delete(Job).where(Job.whole_id == job_id))


def cancel(session: Session, job: Job) -> None:
    """Cancel a job: it can no longer take effect, and its worker ends it. Raises Problem 409 if it has ended."""
    if job.state not in OPEN:
        raise conflict("job", f"The job is {job.state} already.")
    job.state, job.lease, job.finished_us = JobState.CANCELLED, None, now_us()
    _drop_pieces(session, job.id)


def retry(session: Session, job: Job) -> None:
    """Start a failed or cancelled job again, which `find` has found to retry.

    Raises Problem 409 for any other job, or if one of its kind is open.
    """
    if job.state not in (JobState.FAILED, JobState.CANCELLED):
        raise conflict("job", f"The job is {job.state}: only one that failed or was cancelled can be tried again.")
    if open_one(session, job.kind, job.study_id):
        raise conflict("job", "Another job of this kind is open. Wait until it is done, or cancel it.")
    job.state, job.tries, job.failed, job.finished_us = JobState.WAITING, 0, None, None
    session.flush()
    deliver(session, job.id)


def forget(session: Session, study_id: int, kinds: Collection[str]) -> None:
    """Delete a study's jobs of these kinds with their results. Running jobs can no longer take effect."""
    gone = delete(Job).where(Job.study_id == study_id, Job.kind.in_(kinds)).returning(Job.id)
    session.execute(delete(Job).where(Job.whole_id.in_(session.scalars(gone).all())))


def waiting(database: Database, but: Collection[int]) -> int | None:
    """The id of the job that has waited longest, except those in `but`. Pieces come last, so other jobs don't wait."""
    query = select(Job.id).where(Job.state == JobState.WAITING, Job.id.not_in(but), _whole_again())
    query = query.order_by(Job.whole_id.is_not(None), Job.id)
    with database.reading() as session:
        return session.scalar(query.limit(1))


def _whole_again() -> ColumnElement[bool]:
    """An SQL condition: the job does not wait for a piece."""
    piece = aliased(Job)
    return ~exists().where(piece.whole_id == Job.id, piece.state.in_(OPEN))


def take(database: Database, job_id: int, worker: str) -> Job | None:
    """Take a job for a worker, even if a worker that died had begun it. None if the job is not open any more."""
    with database.writing() as session:
        job = locked(session, Job.id == job_id, Job.state.in_(OPEN))
        # Only after the lock: a worker may just have split the job, and PostgreSQL looks for pieces before it waits.
        if job is None or session.scalar(select(Job.id).where(Job.id == job_id, _whole_again())) is None:
            return None
        if job.tries >= MOST_TRIES:
            _fail(session, job, ENDED)
            return None
        job.state, job.lease, job.worker = JobState.RUNNING, secrets.token_hex(8), worker
        job.tries, job.started_us = job.tries + 1, now_us()
        job.step, job.steps, job.doing = 0, 0, "beginning"
        return job


def is_held(database: Database, job_id: int, lease: str) -> bool:
    """Whether a job still has this lease."""
    with database.looking_up() as session:
        return session.scalar(select(Job.id).where(Job.id == job_id, Job.lease == lease)) is not None


def let_go(database: Database, job_id: int, lease: str) -> bool:
    """Return an unfinished job to the waiting ones. Returns False if it no longer had this lease."""
    with database.writing() as session:
        mine = Job.id == job_id, Job.lease == lease
        back = update(Job).where(*mine).values(state=JobState.WAITING, lease=None).returning(Job.id)
        return session.scalar(back) is not None


def fail(database: Database, job_id: int, lease: str, why: str) -> None:
    """Mark a job as failed, if it still has this lease. `why` is for the person who asked for it."""
    with database.writing() as session:
        job = locked(session, Job.id == job_id, Job.lease == lease)
        if job is not None:
            _fail(session, job, why)


def _fail(session: Session, job: Job, why: str) -> None:
    """Mark a locked job as failed; for a piece, its whole job."""
    if job.whole_id is not None:
        job = session.get_one(Job, job.whole_id)
    job.state, job.lease, job.finished_us, job.failed = JobState.FAILED, None, now_us(), why[:LONGEST]
    _drop_pieces(session, job.id)


def take_back(database: Database) -> None:
    """Return running jobs to the waiting ones. Only for a database with a single worker, at the worker's start."""
    with database.writing() as session:
        session.execute(update(Job).where(Job.state == JobState.RUNNING).values(state=JobState.WAITING, lease=None))
