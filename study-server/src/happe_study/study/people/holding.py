# SPDX-License-Identifier: GPL-2.0-or-later
"""Who works on what belongs to participants holds them first, so that a withdrawal waits, or is over before.

A withdrawal locks its participant's row against everybody. Entries of the audit log about a participant, and rows that
refer to them, need the row, too. So a transaction that first locked something else could wait for a withdrawal that
waits for it.
"""

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from happe_study.model.participants import Participant


def hold(session: Session, which: ColumnElement[bool]) -> None:
    """Let none of these participants withdraw until the transaction ends, after waiting for withdrawals under way.

    Call it before the transaction locks anything that belongs to them, or the audit log's head.
    """
    those = select(Participant.id).where(which).order_by(Participant.id)
    session.execute(those.with_for_update(read=True, key_share=True))
