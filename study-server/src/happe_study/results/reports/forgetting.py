# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes when a participant leaves: reports and measures of the study, which hold data of everybody in it.

And what a report that died has left on the disk, which holds the same.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from sqlalchemy import delete, select

from happe_study.evidence.documents.models import AnalysisDocument, DocumentKind
from happe_study.results.reports import locks
from happe_study.results.reports.models import Report, ReportFile

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.orm import Session


def forget(session: Session, study_id: int) -> None:
    """Remove all reports of a study and the measured power; both can be made anew from what is left."""
    mine = select(Report.id).where(Report.study_id == study_id)
    session.execute(delete(ReportFile).where(ReportFile.report_id.in_(mine)))
    session.execute(delete(Report).where(Report.study_id == study_id))
    of_study = AnalysisDocument.study_id == study_id, AnalysisDocument.kind == DocumentKind.MEASURES
    session.execute(delete(AnalysisDocument).where(*of_study))


def sweep(data: Path) -> None:
    """Remove what reports that died left. That of one in the making stays, which looks after itself (job.py)."""
    for left in (data / locks.FOLDER).glob(f"[0-9]*{locks.WORK}"):
        with locks.taken(data, int(left.name.removesuffix(locks.WORK))) as lock:
            if lock is not None and left.is_dir():
                shutil.rmtree(left)
