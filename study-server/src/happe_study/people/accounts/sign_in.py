# SPDX-License-Identifier: GPL-2.0-or-later
"""Signing in and out, by Flask-Security: argon2, sessions, fresh sign-in for what can't be undone.

A session is a signed cookie with the account's `fs_uniquifier`, which a new password, disabling and signing out
change: every session of the account ends then, wherever its cookie was copied to.
"""

from __future__ import annotations

import re
from datetime import timedelta
from functools import wraps
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import structlog
from flask import g, make_response, request, session
from flask_login import current_user, user_logged_out
from flask_security import LoginForm, Security, UserDatastore, user_authenticated
from flask_security.core import RoleMixin
from sqlalchemy import func, select
from sqlalchemy.orm import joinedload

from happe_study.access.rules import FRESH_MINUTES, Rule, Who
from happe_study.base import limits
from happe_study.base.problems import Problem, bad_request
from happe_study.people.accounts import services
from happe_study.people.accounts.models import Account

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask, Response

    from happe_study.base.config import Secrets
    from happe_study.base.database import Database

log = structlog.get_logger(__name__)

RULES = {
    "security.login": Rule(Who.ANYBODY),
    "security.logout": Rule(Who.ANYBODY),
    "security.verify": Rule(Who.STAFF),
    "security.change_password": Rule(Who.STAFF),
}
ASKS_PASSWORD = ("security.login", "security.verify", "security.change_password")
OPEN_WITH_GIVEN_PASSWORD = {"security.change_password", "security.logout", "static"}
OF_THE_SIGN_IN = ("_user_id", "_fresh", "_id", "fs_cc", "fs_paa")  # what signing in puts into a session
OWN_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")  # and no other host, whatever a browser makes of it
REFUSED = ("The address or the password is not right.", "error")


class NoRole(RoleMixin):
    """Flask-Security's roles are not used: grants are by study (access/rights.py)."""


class SignIn(LoginForm):
    """Address and password. Nobody is remembered beyond the session."""

    remember = None


class Accounts(UserDatastore):
    """Accounts as Flask-Security wants to find and change them."""

    def __init__(self, database: Database) -> None:
        """Accounts in this database."""
        super().__init__(Account, NoRole)
        self._database = database

    def find_user(self, case_insensitive: bool = False, session: object = None, **kwargs: object) -> Account | None:  # noqa: ARG002, FBT001, FBT002 - theirs
        """The account whose column has a value."""
        ((name, value),) = kwargs.items()
        if "\0" in str(value):
            return None
        column = getattr(Account, name)
        match = func.lower(column) == str(value).lower() if name == "email" else column == value
        with self._database.looking_up() as found:
            return found.scalars(select(Account).where(match).options(joinedload(Account.grants))).unique().first()

    def put(self, model: Account) -> Account:
        """Keep a new password, and nothing else that the model may have been holding for a while."""
        with self._database.writing() as kept:
            services.keep_password(kept, model)
        return model

    def commit(self) -> None:
        """Nothing: `put` has committed."""


def install(app: Flask) -> None:
    """Add Flask-Security to an application."""
    found = app.extensions["happe"]
    app.config.update(_settings(found.secrets))
    security = Security(app, Accounts(found.database), register_blueprint=True, login_form=SignIn)
    security.want_json(lambda _request: False)
    security.login_manager.request_loader(lambda _request: None)  # theirs reads every JSON body, before the rules
    for endpoint in ASKS_PASSWORD:
        app.view_functions[endpoint] = _counted(app.view_functions[endpoint])
    user_authenticated.connect(_renew_session, app)
    user_logged_out.connect(_end_sessions, app)

    @app.before_request
    def _lead_to_new_password() -> None:
        given = current_user.is_authenticated and current_user.password_given
        if given and "Authorization" not in request.headers and request.endpoint not in OPEN_WITH_GIVEN_PASSWORD:
            detail = "Choose a password of your own first: somebody else knows the one that you have."
            raise Problem(HTTPStatus.FORBIDDEN, "password-given", detail)

    @app.before_request
    def _stay_here() -> None:
        if request.blueprint == "security":
            for place in (*request.args.getlist("next"), *request.form.getlist("next")):
                if place and not OWN_PATH.fullmatch(place):
                    raise bad_request("`next` is no path of this server.")


def _settings(secrets: Secrets) -> dict[str, Any]:
    return {
        "SECURITY_PASSWORD_HASH": "argon2",
        "SECURITY_PASSWORD_SCHEMES": ["argon2"],
        "SECURITY_PASSWORD_SALT": secrets.password.hex(),
        "SECURITY_PASSWORD_LENGTH_MIN": services.SHORTEST_PASSWORD,
        "SECURITY_CHANGEABLE": True,
        "SECURITY_SEND_PASSWORD_CHANGE_EMAIL": False,
        "SECURITY_LOGOUT_METHODS": ["POST"],
        "SECURITY_FRESHNESS": timedelta(minutes=FRESH_MINUTES),
        "SECURITY_EMAIL_VALIDATOR_ARGS": {"check_deliverability": False},
        "SECURITY_STATIC_FOLDER": None,
        "SECURITY_LOGIN_URL": "/sign-in",
        "SECURITY_LOGOUT_URL": "/sign-out",
        "SECURITY_VERIFY_URL": "/sign-in-again",
        "SECURITY_CHANGE_URL": "/password",
        "SECURITY_LOGIN_USER_TEMPLATE": "sign_in.html",
        "SECURITY_VERIFY_TEMPLATE": "sign_in_again.html",
        "SECURITY_CHANGE_PASSWORD_TEMPLATE": "password.html",
        "SECURITY_POST_LOGIN_VIEW": "/studies",
        "SECURITY_POST_LOGOUT_VIEW": "/sign-in",
        "SECURITY_POST_VERIFY_VIEW": "/studies",
        "SECURITY_POST_CHANGE_VIEW": "/me",
        "SECURITY_RETURN_GENERIC_RESPONSES": True,
        "SECURITY_API_ENABLED_METHODS": ["session"],
        "SECURITY_MSG_GENERIC_AUTHN_FAILED": REFUSED,
        "SECURITY_MSG_DISABLED_ACCOUNT": REFUSED,
        "SECURITY_MSG_INVALID_PASSWORD": ("This is not your password.", "error"),
        "SECURITY_MSG_PASSWORD_NOT_PROVIDED": ("Give your password.", "error"),
        "SECURITY_MSG_PASSWORD_IS_THE_SAME": ("Choose another one than before.", "error"),
        "SECURITY_MSG_RETYPE_PASSWORD_MISMATCH": ("This is not the same as above.", "error"),
        "SECURITY_MSG_PASSWORD_CHANGE": ("Your password is changed. Other sessions and tokens have ended.", "success"),
        "SECURITY_MSG_REAUTHENTICATION_SUCCESSFUL": ("Thank you. Go on within five minutes.", "success"),
    }


def _counted(view: Callable[[], Any]) -> Callable[[], Response]:
    """A view that is given a password, as often as `limits.login` allows an address and an account.

    Failures count for the address; every attempt counts for the account until one succeeds.
    """

    @wraps(view)
    def counted() -> Response:
        if request.method != "POST":
            return make_response(view())
        if request.mimetype not in {"application/x-www-form-urlencoded", "multipart/form-data"}:
            raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "This takes a form.")
        account = current_user.email if current_user.is_authenticated else request.form.get("email", "")
        who = "account", account.strip().lower()[:255]
        limits.require("login", "address", limits.address())
        limits.count("login", *who)
        response = make_response(view())
        if response.status_code == HTTPStatus.OK:
            limits.count("login", "address", limits.address())
            log.warning("password refused", endpoint=request.endpoint)
        else:
            limits.forget("login", *who)
        return response

    return counted


def _renew_session(_app: Flask, **_about: object) -> None:
    """Whoever signs in starts with an empty session: nothing that was planted in it before is valid, nor was known."""
    kept = {name: session[name] for name in OF_THE_SIGN_IN if name in session}
    session.clear()
    session.update(kept)
    g.pop("csrf_token", None)


def _end_sessions(app: Flask, user: Account, **_about: object) -> None:
    """Signing out ends every session of the account: a cookie that was copied is no good afterwards."""
    with app.extensions["happe"].database.writing() as changed:
        services.end_sessions(changed, user.id)
