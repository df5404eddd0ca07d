# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs taught, taken out of their records into rows, in which it can be searched.

Nobody may see any of it before the study is unblinded, so nothing is taken out before: an upload is quicker, and until
then the database has no row that tells who learned what.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy import Select, insert, select, update

from happe_study import contract
from happe_study.allocation.sealing import SealError
from happe_study.contract import Kind
from happe_study.database import table
from happe_study.faults import BadDocumentError
from happe_study.participants.models import Participant
from happe_study.profiles.models import LearningEvent, Uafp
from happe_study.runs.models import Run, RunRecord
from happe_study.runs.record import run_record
from happe_study.runs.stored import opened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

    from happe_study.config import Secrets
    from happe_study.runs.record import RunRecord as Content

log = structlog.get_logger(__name__)

AT_ONCE = 100  # records; a long one takes some megabytes
_UAFPS, _EVENTS = insert(table(Uafp)), insert(table(LearningEvent))


@dataclass
class Taken:
    """How many records were taken out, and the codes of runs whose record can't be."""

    records: int = 0
    unreadable: list[str] = field(default_factory=list)


def take_out(session: Session, study_id: int, secrets: Secrets) -> Taken:
    """Make rows of what the records of an unblinded study taught and are not made of yet.

    A record that does not open is left, and looked at again the next time: it may have been restored by then.
    """
    taken, last = Taken(), 0
    while found := session.execute(_left(study_id, last)).all():
        last = found[-1].id
        read = [(row, _content(row, secrets)) for row in found]
        taken.unreadable += [row.code for row, content in read if content is None]
        _keep(session, [(row.run_id, content) for row, content in read if content is not None])
        done = [row.id for row, content in read if content is not None]
        session.execute(update(RunRecord).where(RunRecord.id.in_(done)).values(taken_out=True))
        taken.records += len(done)
    return taken


def _left(study_id: int, after: int) -> Select[int, int, str, str, bytes]:
    columns = select(RunRecord.id, RunRecord.run_id, Run.code, RunRecord.client_id, RunRecord.document)
    mine = columns.join(Run, RunRecord.run_id == Run.id).join(Participant, Run.participant_id == Participant.id)
    left = mine.where(Participant.study_id == study_id, RunRecord.taken_out.is_(False), RunRecord.id > after)
    return left.order_by(RunRecord.id).limit(AT_ONCE).with_for_update(of=RunRecord)


def _content(row: Any, secrets: Secrets) -> Content | None:  # noqa: ANN401 - a row of `_left`
    """A stored record. It kept its contract when it came; one that does not any more must not stop an unblinding."""
    try:
        document = contract.check(Kind.RUN_RECORD, opened(secrets.allocation, row.code, row.document))
        return run_record(document, run=row.code, client_id=row.client_id)
    except SealError:
        log.error("a stored record does not open")  # noqa: TRY400 - it has no more to say
    except BadDocumentError as error:
        log.error("a stored record breaks its contract", faults=len(error.faults))  # noqa: TRY400 - as above
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
