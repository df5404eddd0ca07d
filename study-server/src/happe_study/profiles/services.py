# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs taught, taken out of their records into rows. Nobody sees any of it before the study is unblinded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert

from happe_study.database import table
from happe_study.profiles.models import LearningEvent, Uafp

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.runs.record import RunRecord

_UAFPS, _EVENTS = insert(table(Uafp)), insert(table(LearningEvent))


def keep(session: Session, run_id: int, record: RunRecord) -> None:
    """Keep a run's UAFP before and after it and its lessons: at most two statements, whatever their number."""
    moments = {"before": record.profile_before, "after": record.profile_after}
    uafps = [{"run_id": run_id, "moment": moment, "khz": list(khz)} for moment, khz in moments.items() if khz]
    if uafps:
        session.execute(_UAFPS, uafps)
    if record.learned:
        session.execute(_EVENTS, [{"run_id": run_id, **vars(lesson)} for lesson in record.learned])
