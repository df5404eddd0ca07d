# SPDX-License-Identifier: GPL-2.0-or-later
"""What the function of a kind of job gets: what to do, with what, and how to say how far it is."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import update

from happe_study.jobs import services
from happe_study.jobs.models import Job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from sqlalchemy.orm import Session

    from happe_study.access.rights import Right
    from happe_study.base.parts import Parts

LEAST_SECONDS = 0.5  # between two words about the same step
LONGEST = 255


class GoneError(Exception):
    """The job was cancelled, forgotten, or given to another worker: whatever is done for it now has no effect."""


class FailedError(Exception):
    """The job can't be done; the message says why, to the person who asked for it."""


@dataclass(frozen=True)
class Kind:
    """A kind of job: its name in the database, its title (with its arguments), who may cancel it, what does it.

    `run` leaves nothing outside of `Work.folder` before it calls `Work.taking_effect`, unless doing it twice does no
    harm. It may raise FailedError. After `Work.split` it returns; it runs again when the pieces are done.
    """

    name: str
    title: str
    right: Right
    run: Callable[[Work], None]

    def titled(self, job: Job) -> str:
        """What a job of this kind is called."""
        return self.title.format(**job.arguments)


class Work:
    """A job in the making. `folder` is its own, empty, and gone when it has ended."""

    def __init__(self, server: Parts, job: Job, folder: Path) -> None:
        """Say nothing yet."""
        assert job.lease is not None  # noqa: S101 - it was taken
        self.server = server
        self.database = server.database
        self.folder = folder
        self.arguments: dict[str, Any] = job.arguments
        self.asked_by = job.asked_by
        self.id = job.id
        self._study_id = job.study_id
        self._mine = Job.id == job.id, Job.lease == job.lease
        self._said: tuple[str, float] = ("", 0.0)

    @property
    def study_id(self) -> int:
        """The study that it is about."""
        assert self._study_id is not None  # noqa: S101 - the kind's function knows
        return self._study_id

    def doing(self, what: str, step: int = 0, steps: int = 0) -> None:
        """Say how far it is; about one step at most twice a second, so call it often. Raises GoneError."""
        now = time.monotonic()
        if self._said[0] == what and now - self._said[1] < LEAST_SECONDS and step != steps:
            return
        self._said = what, now
        told = update(Job).where(*self._mine).values(doing=what[:LONGEST], step=step, steps=steps).returning(Job.id)
        with self.database.writing() as session:
            if session.scalar(told) is None:
                raise GoneError

    def split(self, kind: str, pieces: Iterable[dict[str, Any]]) -> None:
        """Have workers do pieces of this job: jobs of `kind`, with such arguments. Then return: it begins again.

        Raises GoneError.
        """
        with self.database.writing() as session:
            services.split(session, self._held(session), kind, pieces)

    def results(self) -> list[Any]:
        """What the pieces made, in their order, when all are done; empty if the job is not split yet."""
        return services.results(self.database, self.id)

    @contextmanager
    def taking_effect(self, result: dict[str, Any] | None = None) -> Iterator[Session]:
        """The transaction that has the job's effect and its end: both or nothing, and once. Raises GoneError."""
        with self.database.writing() as session:
            job = self._held(session)
            yield session
            services.finish(session, job, result)

    def _held(self, session: Session) -> Job:
        """The job's row, locked. Raises GoneError."""
        job = services.locked(session, *self._mine)
        if job is None:
            raise GoneError
        return job
