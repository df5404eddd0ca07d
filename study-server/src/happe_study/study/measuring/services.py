# SPDX-License-Identifier: GPL-2.0-or-later
"""Starting the job that measures power, for a person or after unblinding; cancelling it for an upload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from happe_study.base.database import FOR_CHANGE
from happe_study.base.problems import conflict
from happe_study.model.audit.chain import append
from happe_study.model.jobs import services as jobs
from happe_study.model.studies import StudyState
from happe_study.model.traces import Trace
from happe_study.study.measuring.job import MEASURING

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.model.jobs.models import Job
    from happe_study.model.rules import Caller
    from happe_study.model.studies import Study

BLINDED = "Power must wait until the study is unblinded: it reveals conditions."
MEASURED = "The server is measuring this study's power already. Wait until it is done, or cancel the job."
COMMAND_LINE = "the command line"


def begin(session: Session, study: Study, who: Caller | None) -> Job:
    """Start measuring the power of every run. Raises Problem 409 if the study is blinded, or the job exists already."""
    session.refresh(study, with_for_update=FOR_CHANGE)
    if study.state != StudyState.UNBLINDED:
        raise conflict("blinded", BLINDED)
    if jobs.open_one(session, MEASURING, study.id):
        raise conflict("measuring", MEASURED)
    job = _ask(session, study, who)
    append(session, "power.asked", who, study_id=study.id, study=study.name, job=job.id)
    return job


def begin_by_itself(session: Session, study: Study, who: Caller | None) -> None:
    """Start measuring the power of a study right after its unblinding, if it has a trace."""
    if session.scalar(select(Trace.id).where(Trace.study_id == study.id).limit(1)) is not None:
        _ask(session, study, who)


def give_up(session: Session, study: Study) -> None:
    """Cancel the study's measuring job, because an upload takes its place."""
    job = jobs.open_one(session, MEASURING, study.id, for_change=True)
    if job is not None:
        jobs.cancel(job)


def _ask(session: Session, study: Study, who: Caller | None) -> Job:
    return jobs.ask(session, MEASURING, who.name if who else COMMAND_LINE, study.id)
