# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of a study's data, for its researchers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, g
from sqlalchemy import func, select

from happe_study.access.rights import Right
from happe_study.access.rules import caller, staff
from happe_study.access.staff_page import page
from happe_study.base.parts import parts
from happe_study.design.study import Study, StudyState
from happe_study.evidence.checks.findings import Check, Verdict
from happe_study.evidence.checks.services import check_study
from happe_study.runs.course.models import Run

if TYPE_CHECKING:
    from flask import Response
    from sqlalchemy.orm import Session

pages = Blueprint("check_pages", __name__)

MOST_RUNS = 2000  # that a page opens the records of; of more, the command line does


@pages.get("/studies/<study>/checks")
@staff(Right.RUN_READ)
def checks(study: str) -> Response:
    """What the checks say now. What could tell a condition is for who may export, after unblinding."""
    with parts().database.reading() as session:
        found = session.get_one(Study, g.happe_study_ids(study))
        conditions = caller().may(Right.EXPORT, found.id) and found.state == StudyState.UNBLINDED
        too_many = _runs(session, found.id) > MOST_RUNS
        made: list[Check] = []
        if not too_many:
            config, key = parts().config, parts().secrets.allocation
            made = check_study(session, found, key, config.traces_folder, conditions=conditions)
        return page("evidence/checks", "Checks", study=found, checks=made, too_many=too_many, Verdict=Verdict)


def _runs(session: Session, study_id: int) -> int:
    """How many runs there are, or one more than a page checks."""
    some = select(Run.id).where(Run.study_id == study_id).limit(MOST_RUNS + 1).subquery()
    return session.scalar(select(func.count()).select_from(some)) or 0
