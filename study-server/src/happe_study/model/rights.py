# SPDX-License-Identifier: GPL-2.0-or-later
"""The rights of each role. The server denies everything else."""

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
    PROFILE_READ = "profile.read"  # what HAPPE learned; only after unblinding
    PROFILE_REVIEW = "profile.review"  # note, flag
    PROFILE_ASSIGN = "profile.assign"  # to reviewers
    RUN_VIEW = "run.view"  # the page of a run; without run.read only after unblinding
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
            Right.PROFILE_ASSIGN,
            Right.RUN_VIEW,
        }
    ),
    Role.EXPERIMENTER: frozenset(
        {
            Right.STUDY_READ,
            Right.PARTICIPANT_MANAGE,
            Right.RUN_READ,
            Right.RUN_VIEW,
            Right.RUN_MANAGE,
            Right.DEVICE_READ,
        }
    ),
    Role.ANALYST: frozenset({Right.STUDY_READ, Right.RUN_READ, Right.RUN_VIEW, Right.EXPORT, Right.PROFILE_READ}),
    Role.CUSTODIAN: frozenset({Right.STUDY_READ, Right.UNBLIND}),
    Role.AUDITOR: frozenset({Right.STUDY_READ, Right.AUDIT_READ}),
    Role.ADMINISTRATOR: frozenset({Right.STUDY_READ, Right.ACCOUNT_MANAGE, Right.DEVICE_READ, Right.DEVICE_MANAGE}),
    Role.REVIEWER: frozenset({Right.STUDY_READ, Right.PROFILE_READ, Right.PROFILE_REVIEW, Right.RUN_VIEW}),
}

# These roles exclude each other in the same study. A custodian who also rates, runs or analyses could look at
# conditions, and nobody would be blind. Laptops open conditions with their own keys. An administrator enrols devices,
# so they could enrol their own key, pose as a participant, and read the condition of the next slot. A reviewer who
# judges what HAPPE learned must not have known the conditions while it learned.
APART: dict[Role, frozenset[Role]] = {
    Role.CUSTODIAN: frozenset({Role.EXPERIMENTER, Role.ANALYST, Role.INVESTIGATOR}),
    Role.ADMINISTRATOR: frozenset({Role.EXPERIMENTER, Role.ANALYST, Role.INVESTIGATOR}),
    Role.AUDITOR: frozenset({Role.CUSTODIAN, Role.ADMINISTRATOR}),
    Role.REVIEWER: frozenset({Role.CUSTODIAN, Role.ADMINISTRATOR}),
}


def conflicts(role: Role, held: set[Role]) -> set[Role]:
    """The held roles that exclude this one."""
    return {other for other in held if other in APART.get(role, ()) or role in APART.get(other, ())}


def roles_with(right: Right) -> set[Role]:
    """The roles that have a right."""
    return {role for role, rights in RIGHTS.items() if right in rights}
