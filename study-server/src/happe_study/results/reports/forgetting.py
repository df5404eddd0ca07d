# SPDX-License-Identifier: GPL-2.0-or-later
"""Removing results from everybody's data when a participant withdraws."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete

from happe_study.model.documents import AnalysisDocument, DocumentKind
from happe_study.model.jobs import services as jobs
from happe_study.results.exports.job import EXPORT
from happe_study.results.reports.job import REPORT
from happe_study.study.checks.services import CHECKS
from happe_study.study.measuring.job import MEASURING

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


def forget(session: Session, study_id: int) -> None:
    """Remove a study's reports, exports, checks and measured power. The remaining data can produce them again."""
    jobs.forget(session, study_id, (REPORT, CHECKS, MEASURING, EXPORT))
    of_study = AnalysisDocument.study_id == study_id, AnalysisDocument.kind == DocumentKind.MEASURES
    session.execute(delete(AnalysisDocument).where(*of_study))
