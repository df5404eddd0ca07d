# SPDX-License-Identifier: GPL-2.0-or-later
"""Who may unblind a study, and from when.

An administrator could give a friend the role of custodian, or a custodian a new password, and so unblind a study. So
somebody who got the role, or a password that somebody else chose, after the study's lock must wait before unblinding.
In that time everybody who may read the study sees the change, and a custodian whose password changed cannot sign in.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.problems import Problem, forbidden
from happe_study.model.accounts import Account, Grant
from happe_study.model.rights import Right, roles_with
from happe_study.model.rules import Caller
from happe_study.model.studies import Study

HOUR_US = 3600 * 1_000_000
SECOND_US = 1_000_000


@dataclass(frozen=True)
class Custodian:
    """Somebody who may unblind a study, from `unblinds_from_us` on (None: without waiting).

    `password_given_us` is when somebody else last chose the password. The list includes disabled accounts (not
    `active`), because an administrator can enable them again.
    """

    email: str
    active: bool
    since_us: int
    password_given_us: int | None
    unblinds_from_us: int | None

    @property
    def waits(self) -> bool:
        """Whether the custodian must still wait."""
        return self.unblinds_from_us is not None and now_us() < self.unblinds_from_us


def of_study(session: Session, study: Study, wait_hours: int) -> list[Custodian]:
    """A study's custodians, by address."""
    since = func.min(Grant.granted_us)
    here = or_(Grant.study_id == study.id, Grant.study_id.is_(None))
    held = select(Account.email, Account.active, Account.password_given_us, since).join(Grant)
    held = held.where(Grant.role.in_(roles_with(Right.UNBLIND)), here)
    rows = session.execute(held.group_by(Account.id).order_by(Account.email))
    return [
        Custodian(email, active, since_us, given_us, _from(study, wait_hours, since_us, given_us or 0))
        for email, active, given_us, since_us in rows
    ]


def digest(those: Sequence[Custodian]) -> str:
    """A digest of the custodians with the times of their roles and passwords. The study's lock does not change it."""
    facts = [(each.email, each.active, each.since_us, each.password_given_us) for each in those]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def shown(session: Session, study: Study, wait_hours: int) -> list[dict[str, Any]]:
    """A study's custodians as JSON objects for answers."""
    return [asdict(each) for each in of_study(session, study, wait_hours)]


def require(session: Session, study: Study, who: Caller, wait_hours: int) -> None:
    """Raise Problem 403 for anybody who is not a custodian, or must still wait; its text says until when."""
    mine = next((each for each in of_study(session, study, wait_hours) if each.email == who.name), None)
    if mine is None:
        raise forbidden()
    if mine.waits:
        moment = datetime.fromtimestamp((mine.unblinds_from_us or 0) // SECOND_US + 1, UTC)
        why = "you got your role, or a password that somebody else chose, after its lock"
        detail = f"You may unblind this study from {moment:%Y-%m-%d %H:%M:%S} UTC on: {why}."
        raise Problem(HTTPStatus.FORBIDDEN, "custodian-waits", detail)


def _from(study: Study, wait_hours: int, *since_us: int) -> int | None:
    """When the wait ends for what somebody got at these moments (microseconds); None if all were before the lock."""
    late = [each for each in since_us if study.locked_us is not None and each >= study.locked_us]
    return max(late) + wait_hours * HOUR_US if late else None
