# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts: making, granting roles, disabling. No grant overrides the separation of duties (model/rights.py)."""

import secrets
import unicodedata
from collections.abc import Sequence
from typing import Any

from email_validator import EmailNotValidError, validate_email
from flask_security.utils import hash_password
from sqlalchemy import func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.problems import FieldError, Problem, conflict, not_found, unprocessable
from happe_study.model.accounts import Account, Grant, Token, TokenKind
from happe_study.model.audit import chain
from happe_study.model.rights import Role, conflicts
from happe_study.model.rules import Caller, Who
from happe_study.model.studies import Study
from happe_study.study.people import tokens

SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 255
DAY_US = 86_400_000_000
LONGEST_TOKEN_DAYS = 366


def create(session: Session, who: Caller | None, email: str, password: str, *, given: bool) -> Account:
    """Create an account without roles. `given`: somebody else chose the password, so the owner must change it first.

    Raises Problem 409 if the address has an account already, 422 for a bad address or password.
    """
    email = address(email)
    account = Account(
        email=email,
        password=_hashed(password),
        password_given=given,
        password_given_us=now_us() if given else None,
        fs_uniquifier=secrets.token_hex(32),
        created_us=now_us(),
    )
    try:
        with session.begin_nested():
            session.add(account)
    except IntegrityError:
        raise _exists() from None
    chain.append(session, "account.create", who, account=email)
    return account


def find(session: Session, email: str) -> Account | None:
    """The account of an address; None if there is none."""
    return session.scalar(select(Account).where(Account.email == email.strip().lower()))


def shown(session: Session, account: Account) -> dict[str, Any]:
    """An account with its roles, as answers and commands show it."""
    studies = {study_id: session.get_one(Study, study_id).name for g in account.grants if (study_id := g.study_id)}
    grants = [{"role": g.role, "study": studies.get(g.study_id or 0)} for g in account.grants]
    return {
        "email": account.email,
        "active": account.active,
        "grants": sorted(grants, key=lambda g: (g["study"] or "", g["role"])),
    }


def require_free(session: Session, email: str) -> None:
    """Raise Problem 409 if the address has an account, 422 if it is none."""
    if find(session, address(email)) is not None:
        raise _exists()


def _exists() -> Problem:
    return conflict("account-exists", "An account with this address exists already.")


def get(session: Session, email: str) -> Account:
    """The account of an address. Raises Problem 404."""
    if (account := find(session, email)) is None:
        raise not_found()
    return account


def every(session: Session) -> Sequence[Account]:
    """All accounts, by address."""
    return session.scalars(select(Account).order_by(Account.email)).all()


def grant(session: Session, who: Caller | None, account: Account, role: Role, study: Study | None) -> None:
    """Give an account a role, in one study or (None) in all, unless it has it. Problem 409 if that is not allowed."""
    _not_oneself(who, account)
    session.refresh(account, with_for_update=True)  # so that two roles given at once see each other
    study_id = study.id if study else None
    if any(g.role == role and g.study_id == study_id for g in account.grants):
        return
    held = {Role(g.role) for g in account.grants if None in (study_id, g.study_id) or g.study_id == study_id}
    if others := conflicts(role, held):
        raise conflict(
            "duties",
            f"One person can't be both {', '.join(sorted(others))} and {role} of the same study: see docs/blinding.md.",
        )
    account.grants.append(Grant(role=role, study_id=study_id))
    name = study.name if study else None
    chain.append(session, "account.grant", who, study_id=study_id, account=account.email, role=role, study=name)


def revoke(session: Session, who: Caller | None, account: Account, role: Role, study: Study | None) -> None:
    """Take a role from an account. Raises Problem 404 if the account does not have it, 409 if that is not allowed."""
    _not_oneself(who, account)
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
    """End an account's sessions and tokens, and refuse its sign-in."""
    if any(g.role == Role.ADMINISTRATOR for g in account.grants):
        _keep_one_administrator(session, account)
    account.active = False
    _renew(session, account)
    chain.append(session, "account.disable", who, account=account.email)


def enable(session: Session, who: Caller | None, account: Account) -> None:
    """Let a disabled account sign in again."""
    account.active = True
    chain.append(session, "account.enable", who, account=account.email)


def set_password(session: Session, who: Caller | None, account: Account, password: str, *, given: bool) -> None:
    """Give an account another password, and end its sessions and tokens."""
    account.password = _hashed(password)
    account.password_given = given
    account.password_given_us = now_us() if given else account.password_given_us
    _renew(session, account)
    chain.append(session, "account.password", who, account=account.email)


def keep_password(session: Session, changed: Account) -> None:
    """Store the new password that an account's owner chose, or the old password with a newer hash.

    `changed` comes from another session. Its grants and `active` may be out of date, so this does not store them.
    """
    account = session.get_one(Account, changed.id, with_for_update=True)
    account.password = changed.password
    if account.fs_uniquifier == changed.fs_uniquifier:
        return
    account.password_given = changed.password_given = False
    account.fs_uniquifier = changed.fs_uniquifier
    tokens.revoke_all(session, TokenKind.ACCOUNT, account.id)
    who = Caller(Who.STAFF, account.id, account.email)
    chain.append(session, "account.password", who, account=account.email)


def end_sessions(session: Session, account_id: int) -> None:
    """End every session of an account. Its tokens stay."""
    session.execute(update(Account).where(Account.id == account_id).values(fs_uniquifier=secrets.token_hex(32)))


def token_count(session: Session, account: Account) -> int:
    """The number of an account's valid access tokens."""
    valid = select(func.count()).where(Token.account_id == account.id, Token.revoked_us.is_(None))
    return session.scalar(valid.where(or_(Token.expires_us.is_(None), Token.expires_us > now_us()))) or 0


def revoke_tokens(session: Session, who: Caller | None, account: Account) -> None:
    """End every access token of an account."""
    tokens.revoke_all(session, TokenKind.ACCOUNT, account.id)
    chain.append(session, "account.tokens-revoked", who, account=account.email)


def issue_token(session: Session, who: Caller | None, account: Account, days: int) -> str:
    """Make an access token for scripts, with the account's rights. The caller shows it once.

    Some actions need a recent password. If `who` came with a token, the new token counts its time from the same
    password, so that a token cannot renew itself.
    """
    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        raise unprocessable("A token can't be valid for this time.", FieldError("/days", f"1 to {LONGEST_TOKEN_DAYS}"))
    expires_us, proven_us = now_us() + days * DAY_US, who.proven_us if who else None
    token = tokens.issue(session, TokenKind.ACCOUNT, account.id, expires_us=expires_us, proven_us=proven_us)
    chain.append(session, "account.token", who, account=account.email, days=days)
    return token


def _not_oneself(who: Caller | None, account: Account) -> None:
    if who is not None and who.id == account.id:
        raise conflict("own-grants", "You can't change your own roles; ask another administrator.")


def _renew(session: Session, account: Account) -> None:
    """End an account's sessions and tokens."""
    account.fs_uniquifier = secrets.token_hex(32)
    tokens.revoke_all(session, TokenKind.ACCOUNT, account.id)


def address(email: str) -> str:
    """An e-mail address, normalised and in small letters. Raises Problem 422 if it is not one."""
    try:
        found = validate_email(email, check_deliverability=False).normalized.lower()
    except EmailNotValidError as error:
        raise _no_address(email, str(error)[:100]) from error
    if "/" in found:
        raise _no_address(email, "An address must not contain /.")
    return found


def _no_address(email: str, why: str) -> Problem:
    return unprocessable("Not an e-mail address.", FieldError("/email", f"{email[:60]}: {why}"))


def _hashed(password: str) -> str:
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        detail = f"Must have {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters."
        raise unprocessable("Not a good password.", FieldError("/password", detail))
    hashed: str = hash_password(unicodedata.normalize("NFKD", password))  # as Flask-Security does when it checks one
    return hashed


def _keep_one_administrator(session: Session, account: Account) -> None:
    # Locks all administrators. Of two who remove each other at once, the second waits, and sees what the first did.
    administrators = select(Grant.account_id).where(Grant.role == Role.ADMINISTRATOR)
    session.execute(select(Account.id).where(Account.id.in_(administrators)).order_by(Account.id).with_for_update())
    others = (
        select(Grant.id).join(Account).where(Grant.role == Role.ADMINISTRATOR, Account.active, Account.id != account.id)
    )
    if session.scalar(others.limit(1)) is None:
        raise conflict("last-administrator", "This is the last administrator; make another one first.")
