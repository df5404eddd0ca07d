# SPDX-License-Identifier: GPL-2.0-or-later
"""Assigning profiles to reviewers. An assignment only distributes work: reviewers may review every profile."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, or_, select

from happe_study.access.rights import Right, roles_with
from happe_study.audit.chain import append
from happe_study.base.database import FOR_CHANGE, table
from happe_study.evidence.profiles.models import Profile, ProfileAssignment
from happe_study.people.accounts.models import Account, Grant
from happe_study.people.participants.holding import hold
from happe_study.people.participants.models import Participant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Row
    from sqlalchemy.orm import Session

    from happe_study.access.rules import Caller
    from happe_study.design.study import Study


def reviewers(session: Session, study_id: int) -> Sequence[Row[int, str]]:
    """The id and address of everybody who may review a study's profiles, by address."""
    here = or_(Grant.study_id == study_id, Grant.study_id.is_(None))
    held = select(Account.id, Account.email).join(Grant).where(Account.active, here)
    may = held.where(Grant.role.in_(roles_with(Right.PROFILE_REVIEW)))
    return session.execute(may.distinct().order_by(Account.email)).all()


def assigned_to(account_id: int) -> ColumnElement[bool]:
    """An SQL condition: the profile is assigned to this account."""
    return Profile.id.in_(select(ProfileAssignment.profile_id).where(ProfileAssignment.account_id == account_id))


def deal(session: Session, study: Study, people: dict[int, str], each: int, who: Caller) -> int:
    """Assign profiles until each has `each` reviewers out of `people` (addresses by id). Returns the number made.

    The most unusual profiles come first, each to the people with the fewest profiles, so that all get equally unusual
    ones.
    """
    session.refresh(study, with_for_update=FOR_CHANGE)  # so that two people do not assign at once
    hold(session, Participant.study_id == study.id)
    has: dict[int, set[int]] = defaultdict(set)
    load = dict.fromkeys(people, 0)
    known = select(ProfileAssignment.profile_id, ProfileAssignment.account_id).join(Profile)
    for profile_id, account_id in session.execute(known.where(Profile.study_id == study.id)):
        if account_id in people:
            has[profile_id].add(account_id)
            load[account_id] += 1
    made = []
    ordered = select(Profile.id).where(Profile.study_id == study.id)
    for profile_id in session.scalars(
        ordered.order_by(Profile.unusual.desc(), Profile.participant, Profile.application)
    ):
        free = sorted(people.keys() - has[profile_id], key=lambda one: (load[one], people[one]))
        for account_id in free[: max(each - len(has[profile_id]), 0)]:
            load[account_id] += 1
            made.append({"profile_id": profile_id, "account_id": account_id})
    if made:
        session.execute(insert(table(ProfileAssignment)), made)
    names = sorted(people.values())
    append(
        session, "profile.assigned", who, study_id=study.id, study=study.name, reviewers=names, assignments=len(made)
    )
    return len(made)


def clear(session: Session, study: Study, who: Caller) -> None:
    """Delete every assignment of a study. Verdicts and notes stay."""
    mine = select(Profile.id).where(Profile.study_id == study.id)
    session.execute(delete(ProfileAssignment).where(ProfileAssignment.profile_id.in_(mine)))
    append(session, "profile.unassigned", who, study_id=study.id, study=study.name)
