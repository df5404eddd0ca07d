# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs asked for, taken by a worker, split into pieces, ended, cancelled, asked for again.

A worker takes a job with a new lease. Progress and effects count only under the lease that the row has (work.py). So a
job takes effect once, even if its worker is cut off for a while and another one has begun it again.

A job may split itself into pieces, which are jobs, too. It waits for them without a process. When the last one has
ended, it begins again and puts their results together. A transaction locks a whole before its pieces.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, exists, func, select, update
from sqlalchemy.orm import aliased, defer

from happe_study.base.clock import now_us
from happe_study.base.problems import conflict, not_found
from happe_study.jobs.models import OPEN, Job, JobState
from happe_study.jobs.queue import PIECE, deliver

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import ColumnElement
    from sqlalchemy.orm import Session

    from happe_study.base.database import Database

KEPT = 20  # jobs of a kind and study; an older one goes, with what it made, when a new one is asked for
MOST_TRIES = 5
LONGEST = 2000  # characters of why it failed
ENDED = (
    f"Its process ended {MOST_TRIES} times before it was done: perhaps the memory ran out. The worker's log says more."
)


def ask(session: Session, kind: str, asked_by: str, study_id: int | None = None, **arguments: Any) -> Job:  # noqa: ANN401 - JSON
    """Ask for a job. It begins when the transaction is committed and a worker is free."""
    job = Job(kind=kind, study_id=study_id, asked_by=asked_by, arguments=arguments, requested_us=now_us())
    session.add(job)
    _forget_old(session, kind, study_id)
    session.flush()
    deliver(session, job.id)
    return job


def _forget_old(session: Session, kind: str, study_id: int | None) -> None:
    mine = select(Job.id).where(Job.kind == kind, Job.study_id == study_id, Job.state.not_in(OPEN))
    old = session.scalars(mine.order_by(Job.id.desc()).offset(KEPT - 1)).all()
    session.execute(delete(Job).where(Job.id.in_(old)))


def open_one(session: Session, kind: str, study_id: int | None, *, for_change: bool = False) -> Job | None:
    """The job of a kind and study (None: of the server) that waits or runs, locked if it is for a change."""
    query = select(Job).where(Job.kind == kind, Job.study_id == study_id, Job.state.in_(OPEN)).order_by(Job.id)
    return session.scalars(query.with_for_update() if for_change else query).first()


def of_study(session: Session, study_id: int | None, kind: str | None = None, *, results: bool = True) -> Sequence[Job]:
    """The jobs of a study, or of none, the newest first.

    Without `results` a job's result is read only when it is asked for: that of a large study's check is a megabyte.
    """
    query = select(Job).where(Job.study_id == study_id, Job.whole_id.is_(None)).order_by(Job.id.desc())
    query = query if results else query.options(defer(Job.result))
    return session.scalars(query if kind is None else query.where(Job.kind == kind)).all()


def find(session: Session, job_id: int) -> Job:
    """A job, for a change. Raises Problem 404."""
    whole = Job.id == job_id, Job.whole_id.is_(None)
    job = session.scalar(select(Job).where(*whole).with_for_update())
    if job is None:
        raise not_found()
    return job


def split(session: Session, job: Job, kind: str, pieces: Iterable[dict[str, Any]]) -> None:
    """Have workers do pieces of a locked job that runs: each is a job of `kind` with such arguments."""
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
    """What the pieces of a job made, in their order; empty if it is not split."""
    with database.reading() as session:
        return list(session.scalars(select(Job.result).where(Job.whole_id == job_id).order_by(Job.id)))


def finish(session: Session, job: Job, result: dict[str, Any] | None) -> None:
    """End a locked job that is done. The last piece of a whole lets it begin again."""
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
    """A job that its worker changes, and its whole, locked in this order: whole, piece."""
    whole = select(Job.whole_id).where(*which).scalar_subquery()
    session.execute(select(Job.id).where(Job.id == whole).with_for_update())
    return session.scalar(select(Job).where(*which).with_for_update())


def _drop_pieces(session: Session, job_id: int) -> None:
    """Remove the pieces of a job; those that run have no effect any more."""
    session.execute(delete(Job).where(Job.whole_id == job_id))


def cancel(session: Session, job: Job) -> None:
    """Let a job have no effect: its worker ends it. Raises Problem 409 if it has ended."""
    if job.state not in OPEN:
        raise conflict("job", f"The job is {job.state} already.")
    job.state, job.lease, job.finished_us = JobState.CANCELLED, None, now_us()
    _drop_pieces(session, job.id)


def retry(session: Session, job: Job) -> None:
    """Ask again for a job that failed or was cancelled. Raises Problem 409."""
    if job.state not in (JobState.FAILED, JobState.CANCELLED):
        raise conflict("job", f"The job is {job.state}: only one that failed or was cancelled can be tried again.")
    job.state, job.tries, job.failed, job.finished_us = JobState.WAITING, 0, None, None
    session.flush()
    deliver(session, job.id)


def forget(session: Session, study_id: int, kinds: Collection[str]) -> None:
    """Remove a study's jobs of some kinds and what they made; one that runs has no effect any more."""
    gone = delete(Job).where(Job.study_id == study_id, Job.kind.in_(kinds)).returning(Job.id)
    session.execute(delete(Job).where(Job.whole_id.in_(session.scalars(gone).all())))


def waiting(database: Database, but: Collection[int]) -> int | None:
    """The job that has waited longest, apart from some. Pieces come last, so that they keep no other job waiting."""
    query = select(Job.id).where(Job.state == JobState.WAITING, Job.id.not_in(but), _whole_again())
    query = query.order_by(Job.whole_id.is_not(None), Job.id)
    with database.reading() as session:
        return session.scalar(query.limit(1))


def _whole_again() -> ColumnElement[bool]:
    """That a job does not wait for a piece."""
    piece = aliased(Job)
    return ~exists().where(piece.whole_id == Job.id, piece.state.in_(OPEN))


def take(database: Database, job_id: int, worker: str) -> Job | None:
    """Begin a job, which may have been begun before by a worker that died. None: there is nothing to do (any more)."""
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
    """Whether a job is still to be done under a lease."""
    with database.looking_up() as session:
        return session.scalar(select(Job.id).where(Job.id == job_id, Job.lease == lease)) is not None


def let_go(database: Database, job_id: int, lease: str) -> bool:
    """Put a job back that was not done to its end; whether it was still to be done."""
    with database.writing() as session:
        mine = Job.id == job_id, Job.lease == lease
        back = update(Job).where(*mine).values(state=JobState.WAITING, lease=None).returning(Job.id)
        return session.scalar(back) is not None


def fail(database: Database, job_id: int, lease: str, why: str) -> None:
    """End a job that can't be done."""
    with database.writing() as session:
        job = locked(session, Job.id == job_id, Job.lease == lease)
        if job is not None:
            _fail(session, job, why)


def _fail(session: Session, job: Job, why: str) -> None:
    """End a locked job, or the whole of which it is a piece."""
    if job.whole_id is not None:
        job = session.get_one(Job, job.whole_id)
    job.state, job.lease, job.finished_us, job.failed = JobState.FAILED, None, now_us(), why[:LONGEST]
    _drop_pieces(session, job.id)


def take_back(database: Database) -> None:
    """Put back what runs. For the only worker of a database, as it starts."""
    with database.writing() as session:
        session.execute(update(Job).where(Job.state == JobState.RUNNING).values(state=JobState.WAITING, lease=None))
