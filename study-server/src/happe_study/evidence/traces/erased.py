# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces that a withdrawal erased. Their meters may still have the parts, and must not send them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from happe_study.audit.models import AuditDetail, AuditEntry
from happe_study.jobs.models import Job

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

ERASING = "erasing"  # the kind of the jobs that remove traces, which are their argument `traces`
ERASED = "traces.erased"  # the audit log's entry of a job that has done so


def is_erased(session: Session, study_id: int | None, trace: str) -> bool:
    """Whether a withdrawal erased this trace of a study. Only its job knows that until the audit log has an entry."""
    asked = select(Job.arguments).where(Job.kind == ERASING, Job.study_id == study_id)
    entries = select(AuditDetail.detail).join(AuditEntry, AuditEntry.number == AuditDetail.number)
    done = entries.where(AuditEntry.action == ERASED, AuditDetail.study_id == study_id)
    return any(trace in said["traces"] for query in (asked, done) for said in session.scalars(query))
