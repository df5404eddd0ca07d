# SPDX-License-Identifier: GPL-2.0-or-later
"""Which participant sits at which device, and the end of a sitting."""

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.model.devices import Sitting


def close(session: Session, *, device_id: int | None = None, participant_id: int | None = None) -> None:
    """End every sitting at a device or of a participant."""
    where = or_(Sitting.device_id == device_id, Sitting.participant_id == participant_id)
    session.execute(update(Sitting).where(where, Sitting.ended_us.is_(None)).values(ended_us=now_us()))


def current(session: Session, device_id: int) -> int | None:
    """The id of the participant who sits at a device; None: nobody does."""
    query = select(Sitting.participant_id).where(Sitting.device_id == device_id, Sitting.ended_us.is_(None))
    return session.scalar(query.limit(1))
