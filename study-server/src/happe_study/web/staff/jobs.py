# SPDX-License-Identifier: GPL-2.0-or-later
"""Cancelling a job of a study, by the button beside its progress."""

from flask import Blueprint, g
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.parts import parts
from happe_study.base.problems import forbidden, not_found
from happe_study.model.audit.chain import append
from happe_study.model.jobs import services
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.results.job_kinds import KINDS
from happe_study.web.staff_page import done

pages = Blueprint("job_pages", __name__)


@pages.post("/studies/<study>/jobs/<int:number>/cancel")
@staff(Right.STUDY_READ)
def cancel(study: str, number: int) -> AnyResponse:
    """Cancel a job. The caller needs the right to ask for it."""
    study_id = g.happe_study_ids(study)
    with parts().database.writing() as session:
        job = services.find(session, number)
        if job.study_id != study_id:
            raise not_found()
        kind = KINDS[job.kind]
        if not caller().may(kind.right, study_id):
            raise forbidden()
        title = kind.titled(job)
        services.cancel(job)
        append(session, "job.cancelled", caller(), study_id=study_id, study=study, job=number, kind=job.kind)
    return done(f"{title} is cancelled.", kind.page, study=study)
