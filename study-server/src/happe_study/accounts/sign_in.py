# SPDX-License-Identifier: GPL-2.0-or-later
"""Signing in and out, by Flask-Security: argon2, sessions, fresh sign-in for what can't be undone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from flask_security import Security, UserDatastore
from flask_security.core import RoleMixin
from sqlalchemy import func, select
from sqlalchemy.orm import selectinload

from happe_study.accounts.models import Account
from happe_study.rules import Rule, Who

if TYPE_CHECKING:
    from flask import Flask

    from happe_study.database import Database

SHORTEST_PASSWORD = 12
FRESH_MINUTES = 5

RULES = {
    "security.login": Rule(Who.ANYBODY),
    "security.logout": Rule(Who.STAFF),
    "security.verify": Rule(Who.STAFF),
    "security.change_password": Rule(Who.STAFF),
    "security.static": Rule(Who.ANYBODY),
}


class NoRole(RoleMixin):
    """Flask-Security's roles are not used: grants are by study (rights.py)."""


class Accounts(UserDatastore):
    """Accounts as Flask-Security wants to find and change them."""

    def __init__(self, database: Database) -> None:
        """Accounts in this database."""
        super().__init__(Account, NoRole)
        self._database = database

    def find_user(self, case_insensitive: bool = False, session: object = None, **kwargs: object) -> Account | None:  # noqa: ARG002, FBT001, FBT002 - theirs
        """The account whose column has a value."""
        ((name, value),) = kwargs.items()
        column = getattr(Account, name)
        match = func.lower(column) == str(value).lower() if name == "email" else column == value
        with self._database.reading() as found:
            return found.scalar(select(Account).where(match).options(selectinload(Account.grants)))

    def put(self, model: Account) -> Account:
        """Keep a change, such as a new password."""
        with self._database.writing() as session:
            return session.merge(model)

    def commit(self) -> None:
        """Nothing: `put` has committed."""


def install(app: Flask) -> None:
    """Add Flask-Security to an application."""
    found = app.extensions["happe"]
    app.config.update(
        SECURITY_PASSWORD_HASH="argon2",  # noqa: S106 - a name, not a password
        SECURITY_PASSWORD_SALT=found.secrets.password.hex(),
        SECURITY_PASSWORD_LENGTH_MIN=SHORTEST_PASSWORD,
        SECURITY_CHANGEABLE=True,
        SECURITY_SEND_PASSWORD_CHANGE_EMAIL=False,
        SECURITY_LOGOUT_METHODS=["POST"],
        SECURITY_FRESHNESS=timedelta(minutes=FRESH_MINUTES),
        SECURITY_EMAIL_VALIDATOR_ARGS={"check_deliverability": False},
        SECURITY_LOGIN_URL="/sign-in",
        SECURITY_LOGOUT_URL="/sign-out",
        SECURITY_VERIFY_URL="/sign-in-again",
        SECURITY_CHANGE_URL="/password",
        SECURITY_LOGIN_USER_TEMPLATE="sign_in.html",
        SECURITY_VERIFY_TEMPLATE="sign_in_again.html",
        SECURITY_CHANGE_PASSWORD_TEMPLATE="password.html",  # noqa: S106 - a file
        SECURITY_POST_LOGIN_VIEW="/studies",
        SECURITY_POST_LOGOUT_VIEW="/sign-in",
        SECURITY_RETURN_GENERIC_RESPONSES=True,
        SECURITY_API_ENABLED_METHODS=["session"],
    )
    Security(app, Accounts(found.database), register_blueprint=True)
