# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a study's jobs: their progress, and buttons that cancel a job or try it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import Blueprint, current_app, g

from happe_study.access.rights import Right
from happe_study.access.rules import caller, staff
from happe_study.access.staff_page import done, or_again, page
from happe_study.audit.chain import append
from happe_study.base.parts import parts
from happe_study.base.problems import forbidden, not_found
from happe_study.design.study import Study
from happe_study.jobs import services
from happe_study.jobs.models import OPEN, Job, JobState

if TYPE_CHECKING:
    from flask import Flask, Response
    from sqlalchemy.orm import Session
    from werkzeug.wrappers import Response as AnyResponse

    from happe_study.base.problems import Problem
    from happe_study.jobs.work import Kind

pages = Blueprint("job_pages", __name__)

AGAIN = (JobState.FAILED, JobState.CANCELLED)


def install(app: Flask, kinds: dict[str, Kind]) -> None:
    """Store the kinds of jobs for the pages."""
    app.extensions["happe_kinds"] = kinds


@pages.get("/studies/<study>/jobs")
@staff(Right.STUDY_READ)
def jobs(study: str, problem: Problem | None = None) -> Response:
    """The jobs of a study, newest first."""
    with parts().database.reading() as session:
        found = session.get_one(Study, g.happe_study_ids(study))
        listed = services.of_study(session, found.id, results=False)
    shown = [(job, _kind(job).titled(job), caller().may(_kind(job).right, found.id)) for job in listed]
    facts: dict[str, Any] = {
        "jobs": shown,
        "open": OPEN,
        "again": AGAIN,
        "any_open": any(job.state in OPEN for job in listed),
    }
    return page("jobs/jobs", "Jobs", study=found, problem=problem, **facts)


@pages.post("/studies/<study>/jobs/<int:number>/<any(cancel, retry):how>")
@staff(Right.STUDY_READ)
@or_again(lambda study, number, how, problem: jobs(study, problem))  # noqa: ARG005 - by name
def change(study: str, number: int, how: str) -> AnyResponse:
    """Cancel a job, or try it again. The caller needs the right to ask for it."""
    study_id = g.happe_study_ids(study)
    with parts().database.writing() as session:
        job = _of_study(session, number, study_id, to_retry=how == "retry")
        if not caller().may(_kind(job).right, study_id):
            raise forbidden()
        title = _kind(job).titled(job)
        if how == "cancel":
            services.cancel(session, job)
        else:
            services.retry(session, job)
        said = {"cancel": "cancelled", "retry": "retried"}[how]
        append(session, f"job.{said}", caller(), study_id=study_id, study=study, job=number, kind=job.kind)
    return done(f"{title} {'is cancelled' if how == 'cancel' else 'begins again'}.", "job_pages.jobs", study=study)


def _of_study(session: Session, number: int, study_id: int, *, to_retry: bool) -> Job:
    job = services.find(session, number, to_retry=to_retry)
    if job.study_id != study_id:
        raise not_found()
    return job


def _kind(job: Job) -> Kind:
    kinds: dict[str, Kind] = current_app.extensions["happe_kinds"]
    return kinds[job.kind]
