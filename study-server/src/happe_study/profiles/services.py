# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs taught, taken out of their records into rows, in which it can be searched.

Nobody may see any of it before the study is unblinded, so nothing is taken out before: an upload is quicker, and until
then the database has no row that tells who learned what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from sqlalchemy import Select, insert, select, update

from happe_study import contract
from happe_study.audit.renaming import unpacked
from happe_study.contract import Kind
from happe_study.database import table
from happe_study.faults import BadDocumentError
from happe_study.participants.models import Participant
from happe_study.profiles.models import LearningEvent, Uafp
from happe_study.runs.models import Run, RunRecord
from happe_study.runs.record import run_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

    from happe_study.runs.record import RunRecord as Content

log = structlog.get_logger(__name__)

AT_ONCE = 100  # records; a long one takes some megabytes
_UAFPS, _EVENTS = insert(table(Uafp)), insert(table(LearningEvent))


def take_out(session: Session, study_id: int) -> int:
    """Make rows of what the records of an unblinded study taught and are not made of yet; of how many records."""
    taken = 0
    while found := session.execute(_left(study_id)).all():
        read = [(run_id, _content(code, client_id, document)) for _, run_id, code, client_id, document in found]
        _keep(session, [(run_id, content) for run_id, content in read if content is not None])
        numbers = [number for number, *_ in found]
        session.execute(update(RunRecord).where(RunRecord.id.in_(numbers)).values(taken_out=True))
        taken += len(found)
    return taken


def _left(study_id: int) -> Select[int, int, str, str, bytes]:
    columns = select(RunRecord.id, RunRecord.run_id, Run.code, RunRecord.client_id, RunRecord.document)
    mine = columns.join(Run, RunRecord.run_id == Run.id).join(Participant, Run.participant_id == Participant.id)
    left = mine.where(Participant.study_id == study_id, RunRecord.taken_out.is_(False))
    return left.order_by(RunRecord.id).limit(AT_ONCE).with_for_update(of=RunRecord)


def _content(code: str, client_id: str, document: bytes) -> Content | None:
    """A stored record. It kept its contract when it came; one that does not any more must not stop an unblinding."""
    try:
        return run_record(contract.check(Kind.RUN_RECORD, unpacked(document)), run=code, client_id=client_id)
    except BadDocumentError as error:
        log.error("a stored record breaks its contract", faults=len(error.faults))  # noqa: TRY400 - it has no more to say
        return None


def _keep(session: Session, learned: Sequence[tuple[int, Content]]) -> None:
    uafps = [
        {"run_id": run_id, "moment": moment, "khz": list(khz)}
        for run_id, record in learned
        for moment, khz in (("before", record.profile_before), ("after", record.profile_after))
        if khz
    ]
    events = [{"run_id": run_id, **vars(lesson)} for run_id, record in learned for lesson in record.learned]
    for statement, rows in ((_UAFPS, uafps), (_EVENTS, events)):
        if rows:
            session.execute(statement, rows)
