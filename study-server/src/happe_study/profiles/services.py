# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs taught, taken out of their records into rows. Nobody sees any of it before the study is unblinded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert

from happe_study.database import table
from happe_study.profiles.models import LearningEvent, Uafp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

    from happe_study.runs.record import RunRecord

_UAFPS, _EVENTS = insert(table(Uafp)), insert(table(LearningEvent))


def keep_all(session: Session, learned: Sequence[tuple[int, RunRecord]]) -> None:
    """Keep UAFPs before and after runs, by their ids, and lessons: at most two statements, whatever their number."""
    uafps = [
        {"run_id": run_id, "moment": moment, "khz": list(khz)}
        for run_id, record in learned
        for moment, khz in (("before", record.profile_before), ("after", record.profile_after))
        if khz
    ]
    events = [{"run_id": run_id, **vars(lesson)} for run_id, record in learned for lesson in record.learned]
    connection = session.connection()
    if uafps:
        connection.execute(_UAFPS, uafps)
    if events:
        connection.execute(_EVENTS, events)
