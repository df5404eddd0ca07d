# SPDX-License-Identifier: GPL-2.0-or-later
"""Assigning profiles to reviewers. An assignment only says who reviews what: reviewers may review every profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, or_, select

from happe_study.base.database import FOR_CHANGE, table
from happe_study.model.accounts import Account, Grant
from happe_study.model.audit.chain import append
from happe_study.model.participants import Participant
from happe_study.model.profiles import Profile, ProfileAssignment
from happe_study.model.rights import Right, roles_with
from happe_study.study.people.holding import hold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Row, Select
    from sqlalchemy.orm import Session

    from happe_study.model.rules import Caller
    from happe_study.model.studies import Study


def reviewers(session: Session, study_id: int) -> Sequence[Row[int, str]]:
    """The id and address of everybody who may review a study's profiles, by address."""
    here = or_(Grant.study_id == study_id, Grant.study_id.is_(None))
    held = select(Account.id, Account.email).join(Grant).where(Account.active, here)
    may = held.where(Grant.role.in_(roles_with(Right.PROFILE_REVIEW)))
    return session.execute(may.distinct().order_by(Account.email)).all()


def assigned_to(account_id: int) -> ColumnElement[bool]:
    """An SQL condition: the profile is assigned to this account."""
    return Profile.id.in_(select(ProfileAssignment.profile_id).where(ProfileAssignment.account_id == account_id))


def assign(session: Session, study: Study, those: Select[Profile], reviewer: Row[int, str], who: Caller) -> int:
    """Assign the profiles of a query to a reviewer, besides others. Returns the number of new assignments."""
    session.refresh(study, with_for_update=FOR_CHANGE)  # so that two people do not assign at once
    hold(session, Participant.study_id == study.id)
    account_id, email = reviewer
    new = those.with_only_columns(Profile.id).where(~assigned_to(account_id))
    made = [{"profile_id": profile_id, "account_id": account_id} for profile_id in session.scalars(new)]
    if made:
        session.execute(insert(table(ProfileAssignment)), made)
    append(
        session, "profile.assigned", who, study_id=study.id, study=study.name, reviewers=[email], assignments=len(made)
    )
    return len(made)


def clear(session: Session, study: Study, who: Caller) -> None:
    """Delete every assignment of a study. Verdicts and notes stay."""
    mine = select(Profile.id).where(Profile.study_id == study.id)
    session.execute(delete(ProfileAssignment).where(ProfileAssignment.profile_id.in_(mine)))
    append(session, "profile.unassigned", who, study_id=study.id, study=study.name)
