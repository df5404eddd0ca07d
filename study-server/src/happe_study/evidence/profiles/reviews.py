# SPDX-License-Identifier: GPL-2.0-or-later
"""Notes on profiles, and flags with their reasons. Each stays as it was written, until the participant withdraws.

What is written is kept beside the profile alone; the audit log says who wrote when, about which profile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update

from happe_study.audit.chain import append
from happe_study.base.clock import now_us
from happe_study.base.problems import conflict
from happe_study.evidence.profiles.models import Profile, ProfileReview, ReviewKind
from happe_study.people.accounts.models import Account

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Row
    from sqlalchemy.orm import Session

    from happe_study.access.rules import Caller

LONGEST_NOTE = 2000
LONGEST_REASON = 500
ACTIONS = {ReviewKind.NOTE: "profile.noted", ReviewKind.FLAG: "profile.flagged", ReviewKind.UNFLAG: "profile.unflagged"}


def review(session: Session, profile: Profile, kind: ReviewKind, text: str, who: Caller) -> ProfileReview:
    """Write a note, flag a profile, or take the flag away. Raises Problem 409: it is flagged already, or is not."""
    if kind is not ReviewKind.NOTE:
        session.refresh(profile, with_for_update=True)
        if profile.flagged == (kind is ReviewKind.FLAG):
            raise conflict(
                "flag", "This profile is flagged already." if profile.flagged else "This profile has no flag."
            )
        profile.flagged = kind is ReviewKind.FLAG
    else:
        session.execute(update(Profile).where(Profile.id == profile.id).values(notes=Profile.notes + 1))
    made = ProfileReview(profile_id=profile.id, account_id=who.id or None, kind=kind, text=text, at_us=now_us())
    session.add(made)
    about = {"study_id": profile.study_id, "participant_id": profile.participant_id}
    append(session, ACTIONS[kind], who, **about, participant=profile.participant, application=profile.application)
    return made


def of_profile(session: Session, profile: Profile) -> Sequence[Row[ProfileReview, str | None]]:
    """What was written about a profile and who wrote it, the newest first."""
    query = select(ProfileReview, Account.email).outerjoin(Account, Account.id == ProfileReview.account_id)
    return session.execute(query.where(ProfileReview.profile_id == profile.id).order_by(ProfileReview.id.desc())).all()


def forget(session: Session, participant_id: int) -> None:
    """Delete what was written about a participant's profiles."""
    mine = select(Profile.id).where(Profile.participant_id == participant_id)
    session.execute(delete(ProfileReview).where(ProfileReview.profile_id.in_(mine)))
    session.execute(update(Profile).where(Profile.participant_id == participant_id).values(notes=0))
