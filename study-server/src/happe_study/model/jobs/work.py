# SPDX-License-Identifier: GPL-2.0-or-later
"""The interface between a job and the function that does it: arguments, progress, and the result."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from happe_study.base.parts import Parts
from happe_study.model.jobs import services
from happe_study.model.jobs.models import Job
from happe_study.model.rights import Right

LEAST_SECONDS = 0.5  # between two reports of progress in the same step
LONGEST = 255


class GoneError(Exception):
    """Somebody cancelled or deleted the job, or another worker has it: this worker's work for it has no effect."""


class FailedError(Exception):
    """The job can't be done. The message explains it to the person who asked for the job."""


class Work:
    """A running job. `folder` is its own working folder, empty at first; the worker removes it at the end."""

    def __init__(self, server: Parts, job: Job, folder: Path) -> None:
        """Report no progress yet."""
        assert job.lease is not None  # noqa: S101 - the worker has taken the job
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
        """The id of the job's study. Only for kinds of jobs that have one."""
        assert self._study_id is not None  # noqa: S101 - the kind's function knows
        return self._study_id

    def doing(self, what: str, step: int = 0, steps: int = 0) -> None:
        """Report progress. Call it often: it writes at most twice a second for the same step. Raises GoneError."""
        now = time.monotonic()
        if self._said[0] == what and now - self._said[1] < LEAST_SECONDS and step != steps:
            return
        self._said = what, now
        told = update(Job).where(*self._mine).values(doing=what[:LONGEST], step=step, steps=steps).returning(Job.id)
        with self.database.writing() as session:
            if session.scalar(told) is None:
                raise GoneError

    @contextmanager
    def taking_effect(self, result: dict[str, Any] | None = None) -> Iterator[Session]:
        """A transaction for the job's effect, which also marks the job as done. It commits at most once. GoneError."""
        with self.database.writing() as session:
            job = session.scalar(select(Job).where(*self._mine).with_for_update())
            if job is None:
                raise GoneError
            yield session
            services.finish(job, result)


@dataclass(frozen=True)
class Kind:
    """A kind of job: name in the database, title (a format of the arguments), right to cancel it, and its function.

    Before `run` calls `Work.taking_effect`, it changes nothing outside of `Work.folder`, except what is safe to do
    twice. It may raise FailedError. Its page has the endpoint `page`, where somebody asks for it.
    """

    name: str
    title: str
    right: Right
    run: Callable[[Work], None]
    page: str = "overview_pages.study"

    def titled(self, job: Job) -> str:
        """The title of a job of this kind."""
        return self.title.format(**job.arguments)
