# SPDX-License-Identifier: GPL-2.0-or-later
"""Opaque bearer tokens: making and revoking them. The server shows a token once, and stores only its SHA-256."""

from sqlalchemy import update
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.codes import digest, new_secret
from happe_study.model.accounts import Token, TokenKind


def issue(
    session: Session, kind: TokenKind, owner_id: int, *, expires_us: int | None = None, proven_us: int | None = None
) -> str:
    """Make a token for a participant, device or account. The server keeps only its SHA-256.

    `proven_us`: when the owner gave the password for this token (None: now).
    """
    secret, now = new_secret(), now_us()
    more = {f"{kind}_id": owner_id, "proven_us": now if proven_us is None else proven_us}
    session.add(Token(sha256=digest(secret), kind=kind, created_us=now, expires_us=expires_us, **more))
    return secret


def revoke_all(session: Session, kind: TokenKind, owner_id: int) -> None:
    """End every token of a participant, device or account."""
    column = {
        TokenKind.PARTICIPANT: Token.participant_id,
        TokenKind.DEVICE: Token.device_id,
        TokenKind.ACCOUNT: Token.account_id,
    }[kind]
    session.execute(update(Token).where(column == owner_id, Token.revoked_us.is_(None)).values(revoked_us=now_us()))
