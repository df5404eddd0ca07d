# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that erases the identities of a study's participants, once the protocol's date has passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_study.model.audit.chain import append
from happe_study.model.jobs.work import FailedError, Kind
from happe_study.model.rights import Right
from happe_study.model.studies import Study
from happe_study.results.withdrawal import retention

if TYPE_CHECKING:
    from happe_study.model.jobs.work import Work


def erase_identities(work: Work) -> None:
    """Erase the participants' identities, each in its own transaction, so that a repeated job continues."""
    with work.database.reading() as session:
        study = session.get_one(Study, work.study_id)
        name, planned = study.name, retention.plan(session, study)
        left = retention.identified(session, study.id)
    if planned is None or not planned.is_due:
        raise FailedError("The day after which identities are erased has not come.")
    for done, participant in enumerate(left):
        work.doing("erasing identities", done, len(left))
        with work.database.writing() as session:
            retention.erase(session, participant, work.server.secrets)
    with work.taking_effect({"participants": len(left)}) as session:
        append(session, "identities.erased", None, study_id=work.study_id, study=name, participants=len(left))


KIND = Kind(retention.KIND, "Erasure of identities", Right.STUDY_LOCK, erase_identities)
