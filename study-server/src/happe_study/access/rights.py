# SPDX-License-Identifier: GPL-2.0-or-later
"""What each role may do. Whatever is not listed here is denied."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Roles of staff."""

    INVESTIGATOR = "investigator"
    EXPERIMENTER = "experimenter"
    ANALYST = "analyst"
    CUSTODIAN = "custodian"
    AUDITOR = "auditor"
    ADMINISTRATOR = "administrator"
    REVIEWER = "reviewer"


class Right(StrEnum):
    """Things that staff do."""

    STUDY_CREATE = "study.create"
    STUDY_READ = "study.read"  # protocol, state, commitment, progress
    STUDY_LOCK = "study.lock"
    PARTICIPANT_MANAGE = "participant.manage"  # invite, replace, withdraw
    RUN_READ = "run.read"  # codes, states, ratings; never a condition before unblinding
    RUN_MANAGE = "run.manage"  # abort, replace
    DEVICE_READ = "device.read"
    DEVICE_MANAGE = "device.manage"  # enrol, revoke
    EXPORT = "export"
    PROFILE_READ = "profile.read"  # what was learned; nothing of it before unblinding
    PROFILE_REVIEW = "profile.review"  # note, flag
    UNBLIND = "unblind"
    AUDIT_READ = "audit.read"
    ACCOUNT_MANAGE = "account.manage"


RIGHTS: dict[Role, frozenset[Right]] = {
    Role.INVESTIGATOR: frozenset(
        {
            Right.STUDY_CREATE,
            Right.STUDY_READ,
            Right.STUDY_LOCK,
            Right.PARTICIPANT_MANAGE,
            Right.RUN_READ,
            Right.DEVICE_READ,
            Right.EXPORT,
            Right.PROFILE_READ,
            Right.PROFILE_REVIEW,
        }
    ),
    Role.EXPERIMENTER: frozenset(
        {Right.STUDY_READ, Right.PARTICIPANT_MANAGE, Right.RUN_READ, Right.RUN_MANAGE, Right.DEVICE_READ}
    ),
    Role.ANALYST: frozenset({Right.STUDY_READ, Right.RUN_READ, Right.EXPORT, Right.PROFILE_READ}),
    Role.CUSTODIAN: frozenset({Right.STUDY_READ, Right.UNBLIND}),
    Role.AUDITOR: frozenset({Right.STUDY_READ, Right.AUDIT_READ}),
    Role.ADMINISTRATOR: frozenset({Right.STUDY_READ, Right.ACCOUNT_MANAGE, Right.DEVICE_READ, Right.DEVICE_MANAGE}),
    Role.REVIEWER: frozenset({Right.STUDY_READ, Right.PROFILE_READ, Right.PROFILE_REVIEW}),
}

# Who holds one of these may not hold the other in the same study. A custodian who also rates, runs or analyses could
# look, and nobody would be blind. Conditions are sealed to the keys of devices: an administrator, who enrols these,
# could enrol a key of their own, play a participant who is nobody, and read what the slot holds for the next one.
# Who judges what was learned must not have known, while it was, what it was learned under.
APART: dict[Role, frozenset[Role]] = {
    Role.CUSTODIAN: frozenset({Role.EXPERIMENTER, Role.ANALYST, Role.INVESTIGATOR}),
    Role.ADMINISTRATOR: frozenset({Role.EXPERIMENTER, Role.ANALYST, Role.INVESTIGATOR}),
    Role.AUDITOR: frozenset({Role.CUSTODIAN, Role.ADMINISTRATOR}),
    Role.REVIEWER: frozenset({Role.CUSTODIAN, Role.ADMINISTRATOR}),
}


def conflicts(role: Role, held: set[Role]) -> set[Role]:
    """Those of the roles held that do not go with this one."""
    return {other for other in held if other in APART.get(role, ()) or role in APART.get(other, ())}


def roles_with(right: Right) -> set[Role]:
    """The roles that have a right."""
    return {role for role, rights in RIGHTS.items() if right in rights}
