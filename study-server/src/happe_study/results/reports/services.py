# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of a study: begun, looked after, found."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select

from happe_study.audit.chain import append
from happe_study.base.clock import now_us
from happe_study.base.problems import conflict, not_found
from happe_study.design.study import Study, StudyState
from happe_study.evidence.documents.models import AnalysisDocument, DocumentKind
from happe_study.evidence.profiles.services import take_out
from happe_study.people.accounts.models import Account
from happe_study.results.reports import locks
from happe_study.results.reports.job import Order
from happe_study.results.reports.models import Report, ReportFile

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.access.rules import Caller
    from happe_study.base.parts import Parts

RESAMPLES = 9999
KEPT = 20  # reports of a study; an older one goes when a new one is begun
BLINDED = "There is no report before the study is unblinded."
MAKING = "A report of this study is being made. Wait until it is there."


class Stage(StrEnum):
    """How far a report is."""

    MAKING = "being made"
    MADE = "made"
    FAILED = "failed"
    DIED = "died"  # its process ended before it was made: the server was stopped, or the memory ran out


@dataclass(frozen=True)
class Shown:
    """A report as its pages show it."""

    report: Report
    stage: Stage
    by: str


def begin(server: Parts, study_id: int, who: Caller, resamples: int = RESAMPLES) -> int:
    """Begin a report in a process of its own; its number. Raises Problem 409: blinded, or one is being made."""
    with locks.taken(server.config.data, study_id) as lock:
        if lock is None:
            raise conflict("report", MAKING)
        with server.database.writing() as session:
            report = _row(session, session.get_one(Study, study_id), server, who)
        order = Order(
            str(server.config.data),
            server.config.url,
            server.secrets.allocation.hex(),
            study_id,
            report.id,
            report.requested_us,
            resamples,
            lock,
        )
        _start(order)
    return report.number


def _row(session: Session, study: Study, server: Parts, who: Caller) -> Report:
    if study.state != StudyState.UNBLINDED:
        raise conflict("blinded", BLINDED)
    take_out(session, study.id, server.secrets)
    last = session.scalar(select(func.max(Report.number)).where(Report.study_id == study.id)) or 0
    report = Report(study_id=study.id, number=last + 1, account_id=who.id, requested_us=now_us())
    report.step, report.steps, report.doing = 0, 0, "beginning"
    session.add(report)
    old = select(Report.id).where(Report.study_id == study.id, Report.number <= last + 1 - KEPT)
    session.execute(delete(ReportFile).where(ReportFile.report_id.in_(old)))
    session.execute(delete(Report).where(Report.id.in_(old)))
    made_from = {
        document.kind: document.sha256
        for document in session.scalars(select(AnalysisDocument).where(AnalysisDocument.study_id == study.id))
    }
    append(
        session,
        "report.begun",
        who,
        study_id=study.id,
        study=study.name,
        report=report.number,
        power=made_from.get(DocumentKind.MEASURES),
        machine=made_from.get(DocumentKind.MODEL),
    )
    session.flush()
    return report


def _start(order: Order) -> None:
    """Start the process, which holds the lock from now on, and wait for its end beside."""
    variables = {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    variables["MPLCONFIGDIR"] = str(locks.folder(Path(order.data)) / "matplotlib")
    process = subprocess.Popen(
        [sys.executable, "-m", "happe_study.results.reports.job"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=order.data,
        env={**os.environ, **variables},
        pass_fds=[order.lock],
        start_new_session=True,
    )
    assert process.stdin is not None  # noqa: S101 - a pipe
    with process.stdin:
        process.stdin.write(order.encoded())
    threading.Thread(target=process.wait, daemon=True).start()


def shown(server: Parts, study_id: int) -> list[Shown]:
    """A study's reports, the newest first."""
    found = _rows(server, study_id)
    if all(report.finished_us is not None for report, _ in found):
        return [_shown(*each, held=False) for each in found]
    held = locks.is_held(server.config.data, study_id)
    seen = {report.id for report, _ in found}  # before the look at the lock: what came later may hold it
    return [_shown(*each, held=held) for each in _rows(server, study_id) if each[0].id in seen]


def _shown(report: Report, by: str, *, held: bool) -> Shown:
    if report.finished_us is not None:
        return Shown(report, Stage.FAILED if report.failed else Stage.MADE, by)
    return Shown(report, Stage.MAKING if held else Stage.DIED, by)


def _rows(server: Parts, study_id: int) -> list[tuple[Report, str]]:
    query = select(Report, Account.email).join(Account, Account.id == Report.account_id)
    with server.database.reading() as session:
        rows = session.execute(query.where(Report.study_id == study_id).order_by(Report.number.desc()))
        return [(report, email) for report, email in rows]


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
