# SPDX-License-Identifier: GPL-2.0-or-later
"""From a token to its caller: the participant, device or account that the access rules check."""

from typing import Any

from sqlalchemy import Row, bindparam, select
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.codes import digest
from happe_study.base.database import Database, table
from happe_study.model.accounts import Account, Grant, Token, TokenKind
from happe_study.model.devices import Device
from happe_study.model.participants import Participant, ParticipantState
from happe_study.model.rights import Role
from happe_study.model.rules import Caller, DeviceKind, Who

LONGEST_TOKEN = 128
PARTICIPANT_COOKIE = "happe_participant"  # the cookie in which a participant's browser keeps the token

_TOKENS, _DEVICES, _PEOPLE = table(Token).c, table(Device).c, table(Participant).c
_FIND = (  # a single statement, because every request of a device or participant begins with it
    select(*_TOKENS)
    .add_columns(_DEVICES.code, _DEVICES.study_id, _DEVICES.enrolled_us)
    .add_columns(_DEVICES.kind.label("device_kind"), _DEVICES.revoked_us.label("device_revoked_us"))
    .add_columns(_PEOPLE.code.label("person"), _PEOPLE.study_id.label("person_study_id"), _PEOPLE.state)
    .outerjoin_from(table(Token), table(Device), _TOKENS.device_id == _DEVICES.id)
    .outerjoin(table(Participant), _TOKENS.participant_id == _PEOPLE.id)
    .where(_TOKENS.sha256 == bindparam("secret_sha256"))
)


def caller_of(session: Session, secret: str) -> Caller | None:
    """Return the caller with this token. None: the token is not valid now, or its owner may not call."""
    if len(secret) > LONGEST_TOKEN:
        return None
    token = session.execute(_FIND, {"secret_sha256": digest(secret)}).first()
    if token is None or not _is_valid(token):
        return None
    if token.kind == TokenKind.ACCOUNT:
        return _account(session.get_one(Account, token.account_id), token.proven_us or 0)
    return _owner(token)


def calling(database: Database, secret: str) -> Caller | None:
    """Like `caller_of`, without a session: a single statement for participants and devices, who call often."""
    if len(secret) > LONGEST_TOKEN:
        return None
    token = database.row(_FIND, {"secret_sha256": digest(secret)})
    if token is None or not _is_valid(token):
        return None
    if token.kind == TokenKind.ACCOUNT:
        with database.looking_up() as session:
            return _account(session.get_one(Account, token.account_id), token.proven_us or 0)
    return _owner(token)


def _is_valid(token: Row[Any]) -> bool:
    return token.revoked_us is None and (token.expires_us is None or token.expires_us > now_us())


def _owner(token: Row[Any]) -> Caller | None:
    return _participant(token) if token.kind == TokenKind.PARTICIPANT else _device(token)


def _participant(row: Row[Any]) -> Caller | None:
    if row.state in {ParticipantState.WITHDRAWN, ParticipantState.REPLACED}:
        return None
    return Caller(Who.PARTICIPANT, row.participant_id, row.person, row.person_study_id)


def _device(row: Row[Any]) -> Caller | None:
    if row.device_revoked_us is not None or row.enrolled_us is None:
        return None
    return Caller(Who.DEVICE, row.device_id, row.code, row.study_id, DeviceKind(row.device_kind))


def _account(row: Account, proven_us: int) -> Caller | None:
    usable = row.active and not row.password_given
    return staff_caller(row.id, row.email, row.grants, proven_us) if usable else None


def staff_caller(account_id: int, email: str, grants: list[Grant], proven_us: int) -> Caller:
    """The caller for an account whose owner gave the password at `proven_us`."""
    roles = frozenset((Role(grant.role), grant.study_id) for grant in grants)
    return Caller(Who.STAFF, account_id, email, roles=roles, proven_us=proven_us)
