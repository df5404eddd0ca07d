# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts: made, granted roles, disabled. Whoever grants can't grant away the separation of duties (rights.py)."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from email_validator import EmailNotValidError, validate_email
from flask_security.utils import hash_password
from sqlalchemy import select

from happe_study.accounts import tokens
from happe_study.accounts.models import Account, Grant, TokenKind
from happe_study.accounts.rights import Role, conflicts
from happe_study.audit import chain
from happe_study.clock import now_us
from happe_study.problems import FieldError, conflict, not_found, unprocessable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

    from happe_study.rules import Caller
    from happe_study.studies.models import Study

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 255
DAY_US = 86_400_000_000
LONGEST_TOKEN_DAYS = 366


def create(session: Session, who: Caller | None, email: str, password: str) -> Account:
    """A new account, without any role."""
    address = _address(email)
    if find(session, address) is not None:
        raise conflict("account-exists", "There is an account with this address already.")
    account = Account(email=address, password=_hashed(password), fs_uniquifier=secrets.token_hex(32), created_us=now_us())
    session.add(account)
    chain.append(session, "account.create", who, account=address)
    return account


def find(session: Session, email: str) -> Account | None:
    """The account of an address; None if there is none."""
    return session.scalar(select(Account).where(Account.email == email.strip().lower()))


def get(session: Session, email: str) -> Account:
    """The account of an address. Raises Problem 404."""
    if (account := find(session, email)) is None:
        raise not_found()
    return account


def every(session: Session) -> Sequence[Account]:
    """All accounts, by address."""
    return session.scalars(select(Account).order_by(Account.email)).all()


def grant(session: Session, who: Caller | None, account: Account, role: Role, study: Study | None) -> None:
    """Give an account a role, in one study or (None) in all. Twice is once. Raises Problem 409."""
    study_id = study.id if study else None
    if any(g.role == role and g.study_id == study_id for g in account.grants):
        return
    held = {Role(g.role) for g in account.grants if None in (study_id, g.study_id) or g.study_id == study_id}
    if others := conflicts(role, held):
        raise conflict("duties", f"Who is {', '.join(sorted(others))} can't be {role} of the same study: see docs/blinding.md.")
    account.grants.append(Grant(role=role, study_id=study_id))
    name = study.name if study else None
    chain.append(session, "account.grant", who, study_id=study_id, account=account.email, role=role, study=name)


def revoke(session: Session, who: Caller | None, account: Account, role: Role, study: Study | None) -> None:
    """Take a role from an account. Not having it is an error: somebody thinks otherwise."""
    study_id = study.id if study else None
    held = next((g for g in account.grants if g.role == role and g.study_id == study_id), None)
    if held is None:
        raise not_found("This account does not have this role there.")
    if role is Role.ADMINISTRATOR:
        _keep_one_administrator(session, account)
    account.grants.remove(held)
    name = study.name if study else None
    chain.append(session, "account.revoke", who, study_id=study_id, account=account.email, role=role, study=name)


def disable(session: Session, who: Caller | None, account: Account) -> None:
    """End an account's sessions and tokens, and let it sign in no more."""
    if any(g.role == Role.ADMINISTRATOR for g in account.grants):
        _keep_one_administrator(session, account)
    account.active = False
    account.fs_uniquifier = secrets.token_hex(32)
    tokens.revoke_all(session, TokenKind.ACCOUNT, account.id)
    chain.append(session, "account.disable", who, account=account.email)


def enable(session: Session, who: Caller | None, account: Account) -> None:
    """Let a disabled account sign in again."""
    account.active = True
    chain.append(session, "account.enable", who, account=account.email)


def set_password(session: Session, who: Caller | None, account: Account, password: str) -> None:
    """Give an account another password, and end its sessions."""
    account.password = _hashed(password)
    account.fs_uniquifier = secrets.token_hex(32)
    chain.append(session, "account.password", who, account=account.email)


def issue_token(session: Session, who: Caller | None, account: Account, days: int) -> str:
    """An access token for scripts, with the account's rights. Shown once."""
    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        raise unprocessable("Not a lifetime.", FieldError("/days", f"1 to {LONGEST_TOKEN_DAYS}"))
    token = tokens.issue(session, TokenKind.ACCOUNT, account.id, expires_us=now_us() + days * DAY_US)
    chain.append(session, "account.token", who, account=account.email, days=days)
    return token


def _address(email: str) -> str:
    try:
        return validate_email(email, check_deliverability=False).normalized.lower()
    except EmailNotValidError as error:
        raise unprocessable("Not an e-mail address.", FieldError("/email", str(error)[:100])) from error


def _hashed(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        detail = f"{SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters"
        raise unprocessable("Not a good password.", FieldError("/password", detail))
    return hash_password(password)


def _keep_one_administrator(session: Session, account: Account) -> None:
    others = select(Grant.id).join(Account).where(Grant.role == Role.ADMINISTRATOR, Account.active, Account.id != account.id)
    if session.scalar(others.limit(1)) is None:
        raise conflict("last-administrator", "This is the last administrator; make another one first.")
