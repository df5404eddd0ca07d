# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of a study: starting, listing and finding them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from happe_study.base.database import FOR_CHANGE
from happe_study.base.problems import conflict, not_found
from happe_study.model.audit.chain import append
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import Job
from happe_study.model.results import Report, ReportFile
from happe_study.model.studies import Study, StudyState
from happe_study.results.reports.job import REPORT
from happe_study.study.profiles.services import take_out

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.base.config import Secrets
    from happe_study.model.rules import Caller

BLINDED = "A report must wait until the study is unblinded."
MAKING = "The server is making a report of this study. Wait until it is ready."


@dataclass(frozen=True)
class Shown:
    """A report in the list of reports."""

    number: int
    job: Job


def begin(session: Session, study_id: int, secrets: Secrets, who: Caller) -> int:
    """Ask for a report, and return its number. Raises Problem 409: the study is blinded, or a report is being made."""
    study = session.get_one(Study, study_id, with_for_update=FOR_CHANGE)
    if study.state != StudyState.UNBLINDED:
        raise conflict("blinded", BLINDED)
    if jobs.open_one(session, REPORT, study_id):
        raise conflict("report", MAKING)
    take_out(session, study_id, secrets)
    number = 1 + (session.scalar(select(func.max(Report.number)).where(Report.study_id == study_id)) or 0)
    job = jobs.ask(session, REPORT, who.name, study_id, number=number)
    session.add(Report(study_id=study_id, number=number, job_id=job.id))
    append(session, "report.begun", who, study_id=study_id, study=study.name, report=number)
    return number


def shown(session: Session, study_id: int) -> list[Shown]:
    """A study's reports, newest first."""
    query = select(Report.number, Job).join(Job, Job.id == Report.job_id).where(Report.study_id == study_id)
    return [Shown(number, job) for number, job in session.execute(query.order_by(Report.number.desc()))]


def file(session: Session, study_id: int, number: int, name: str) -> ReportFile:
    """A file of a report. Raises Problem 404."""
    query = select(ReportFile).join(Report, Report.id == ReportFile.report_id)
    found = session.scalar(query.where(Report.study_id == study_id, Report.number == number, ReportFile.name == name))
    if found is None:
        raise not_found()
    return found


def names(session: Session, study_id: int, number: int) -> set[str]:
    """The names of a report's files."""
    query = select(ReportFile.name).join(Report, Report.id == ReportFile.report_id)
    return set(session.scalars(query.where(Report.study_id == study_id, Report.number == number)))
