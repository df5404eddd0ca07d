# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces that a withdrawal erased. Their meters may still have the parts, and must not send them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.jobs.models import Job

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

ERASING = "erasing"  # the kind of the jobs that remove traces, which are their argument `traces`
ERASED = "traces.erased"  # the audit log's entry of a job that has done so


def erased(session: Session, study_id: int | None = None) -> set[str]:
    """The traces that withdrawals erased, of a study or (None) of all. A job names them until the audit log does."""
    asked = select(Job.arguments).where(Job.kind == ERASING)
    entries = select(AuditDetail.detail).join(AuditEntry, AuditEntry.number == AuditDetail.number)
    done = entries.where(AuditEntry.action == ERASED)
    if study_id is not None:
        asked, done = asked.where(Job.study_id == study_id), done.where(AuditDetail.study_id == study_id)
    return {trace for query in (asked, done) for said in session.scalars(query) for trace in said["traces"]}
