# SPDX-License-Identifier: GPL-2.0-or-later
"""Reviews of profiles: passes, flags with reasons, notes. The server keeps each as written, until a withdrawal.

A reviewer's verdict on a profile is their last pass, flag or removal of a flag. Reviewers judge independently: several
may flag the same profile. An assignment only says who reviews what: reviewers may review every profile. The audit log
says who reviewed which profile when, but does not contain their words.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from sqlalchemy import ColumnElement, Row, Select, case, delete, exists, func, insert, or_, select, update
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.database import FOR_CHANGE, table
from happe_study.base.problems import conflict, not_found
from happe_study.model.accounts import Account, Grant
from happe_study.model.audit.chain import append
from happe_study.model.participants import Participant
from happe_study.model.profiles import Profile, ProfileAssignment, ProfileReview, ReviewKind
from happe_study.model.rights import Right, roles_with
from happe_study.model.rules import Caller
from happe_study.model.studies import Study
from happe_study.study.people.holding import hold

LONGEST_NOTE = 2000
MOST_BYTES = 12 * LONGEST_NOTE + 4096  # of a request: the longest code of a character in a form and in JSON has 12
ACTIONS = {
    kind: f"profile.{word}" for kind, word in zip(ReviewKind, ("noted", "flagged", "unflagged", "passed"), strict=True)
}
VERDICTS = (ReviewKind.FLAG, ReviewKind.UNFLAG, ReviewKind.PASS)


def review(session: Session, profile: Profile, kind: ReviewKind, text: str, who: Caller) -> ProfileReview:
    """Write a note, pass or flag a profile, or remove its flag.

    Problem 409 if that would change nothing; 404 if a withdrawal renamed or erased the profile meanwhile.
    """
    hold_profile(session, profile)
    if kind is ReviewKind.NOTE:
        profile.notes += 1
    else:
        _judge(session, profile, kind, who)
    made = ProfileReview(profile_id=profile.id, account_id=who.id or None, kind=kind, text=text, at_us=now_us())
    session.add(made)
    about = {"study_id": profile.study_id, "participant_id": profile.participant_id}
    append(session, ACTIONS[kind], who, **about, participant=profile.participant, application=profile.application)
    return made


def hold_profile(session: Session, profile: Profile) -> None:
    """Lock a profile, whose participant can't withdraw meanwhile. 404 if a withdrawal renamed or erased it before."""
    hold(session, Participant.id == profile.participant_id)
    same = select(Profile).where(Profile.id == profile.id, Profile.participant == profile.participant)
    if session.scalar(same.with_for_update().execution_options(populate_existing=True)) is None:
        raise not_found()


def _judge(session: Session, profile: Profile, kind: ReviewKind, who: Caller) -> None:
    """Set or remove the flag of a profile by a verdict. Raises Problem 409 if the verdict changes nothing."""
    own = verdict(session, profile, who.id)
    if kind is ReviewKind.UNFLAG and not profile.flagged:
        raise conflict("flag", "This profile has no flag.")
    if kind is own and (kind is ReviewKind.PASS or profile.flagged):
        said = "You flagged" if kind is ReviewKind.FLAG else "You passed"
        raise conflict("flag", f"{said} this profile already.")
    if kind is not ReviewKind.PASS:
        profile.flagged = kind is ReviewKind.FLAG


def verdict(session: Session, profile: Profile, account_id: int) -> ReviewKind | None:
    """Somebody's last verdict on a profile; None if there is none."""
    mine = select(ProfileReview.kind).where(
        ProfileReview.profile_id == profile.id, ProfileReview.account_id == account_id, ProfileReview.kind.in_(VERDICTS)
    )
    said = session.scalar(mine.order_by(ProfileReview.id.desc()).limit(1))
    return None if said is None else ReviewKind(said)


def judged_by(account_id: int) -> ColumnElement[bool]:
    """An SQL condition: this account has a verdict on the profile."""
    mine = (ProfileReview.profile_id == Profile.id, ProfileReview.account_id == account_id)
    return exists().where(*mine, ProfileReview.kind.in_(VERDICTS))


@dataclass(frozen=True)
class Reviewer:
    """A reviewer's numbers of profiles: judged, flagged, assigned, and assigned but not judged (`left`)."""

    email: str
    judged: int
    flagged: int
    assigned: int
    left: int


@dataclass(frozen=True)
class Agreement:
    """Two reviewers: how many profiles both judged, the share they agree on, and Cohen's kappa (None: undefined)."""

    one: str
    other: str
    both: int
    share: float
    kappa: float | None


@dataclass(frozen=True)
class State:
    """The progress of a study's review."""

    profiles: int
    judged: int  # by anybody
    reviewers: list[Reviewer]
    agreements: list[Agreement]


def state(session: Session, study_id: int) -> State:
    """The progress of a study's reviewers, and the agreement of each pair."""
    every = session.scalar(select(func.count()).select_from(Profile).where(Profile.study_id == study_id)) or 0
    query = select(ProfileReview.profile_id, Account.email, ProfileReview.kind).join(Account)
    query = query.join(Profile, Profile.id == ProfileReview.profile_id).where(Profile.study_id == study_id)
    said: dict[str, dict[int, bool]] = defaultdict(dict)
    for profile, email, kind in session.execute(
        query.where(ProfileReview.kind.in_(VERDICTS)).order_by(ProfileReview.id)
    ):
        said[email][profile] = kind == ReviewKind.FLAG
    loads = _loads(session, study_id)
    people = [
        Reviewer(email, len(said.get(email, ())), sum(said.get(email, {}).values()), *loads.get(email, (0, 0)))
        for email in sorted(said.keys() | loads.keys())
    ]
    pairs = [_agreement(one, other, said[one], said[other]) for one, other in combinations(sorted(said), 2)]
    return State(every, len(set().union(*said.values())), people, [pair for pair in pairs if pair.both])


def _loads(session: Session, study_id: int) -> dict[str, tuple[int, int]]:
    """By address, how many profiles each reviewer is assigned, and how many of these they have not judged."""
    judged = exists().where(
        ProfileReview.profile_id == ProfileAssignment.profile_id,
        ProfileReview.account_id == ProfileAssignment.account_id,
        ProfileReview.kind.in_(VERDICTS),
    )
    columns = (Account.email, func.count(), func.sum(case((judged, 0), else_=1)))
    mine = select(*columns).join(ProfileAssignment, ProfileAssignment.account_id == Account.id).join(Profile)
    rows = session.execute(mine.where(Profile.study_id == study_id).group_by(Account.email))
    return {email: (assigned, left) for email, assigned, left in rows}


def _agreement(one: str, other: str, first: dict[int, bool], second: dict[int, bool]) -> Agreement:
    """Compute Cohen's kappa (1960): (observed - expected) / (1 - expected)."""
    both = sorted(first.keys() & second.keys())
    if not both:
        return Agreement(one, other, 0, 0.0, None)
    observed = sum(first[each] == second[each] for each in both) / len(both)
    share, others = (sum(said[each] for each in both) / len(both) for said in (first, second))
    expected = share * others + (1 - share) * (1 - others)
    kappa = None if expected == 1 else (observed - expected) / (1 - expected)
    return Agreement(one, other, len(both), observed, kappa)


def of_profile(session: Session, profile: Profile) -> Sequence[Row[ProfileReview, str | None]]:
    """The reviews of a profile with their authors' addresses, newest first."""
    query = select(ProfileReview, Account.email).outerjoin(Account, Account.id == ProfileReview.account_id)
    return session.execute(query.where(ProfileReview.profile_id == profile.id).order_by(ProfileReview.id.desc())).all()


def forget(session: Session, participant_id: int) -> None:
    """Delete all reviews of a participant's profiles."""
    mine = select(Profile.id).where(Profile.participant_id == participant_id)
    session.execute(delete(ProfileReview).where(ProfileReview.profile_id.in_(mine)))
    session.execute(update(Profile).where(Profile.participant_id == participant_id).values(notes=0))


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
