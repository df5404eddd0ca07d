# SPDX-License-Identifier: GPL-2.0-or-later
"""Signing in and out, by Flask-Security: argon2, sessions, and a fresh sign-in before actions that can't be undone.

A session is a signed cookie with the account's `fs_uniquifier`. A new password, disabling and signing out change
`fs_uniquifier`, which ends every session of the account, wherever its cookie was copied to.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from http import HTTPStatus
from typing import Any

import structlog
from flask import Flask, Response, g, make_response, request, session
from flask_login import current_user, user_logged_out
from flask_security import LoginForm, Security, UserDatastore, VerifyForm, user_authenticated
from flask_security.core import RoleMixin, UserMixin
from itsdangerous import BadSignature, URLSafeTimedSerializer
from sqlalchemy import func, select
from sqlalchemy.orm import joinedload
from wtforms import StringField

from happe_study.base import limits
from happe_study.base.codes import new_secret
from happe_study.base.config import Secrets
from happe_study.base.database import Database
from happe_study.base.parts import parts
from happe_study.base.problems import Problem, bad_request
from happe_study.model.accounts import Account
from happe_study.model.rules import FRESH_MINUTES, Rule, Who
from happe_study.study.people import accounts as services
from happe_study.study.people import second_factor

log = structlog.get_logger(__name__)

RULES = {
    "security.login": Rule(Who.ANYBODY),
    "security.logout": Rule(Who.ANYBODY),
    "security.verify": Rule(Who.STAFF),
    "security.change_password": Rule(Who.STAFF),
}
ASKS_PASSWORD = ("security.login", "security.verify", "security.change_password")
OPEN_WITH_GIVEN_PASSWORD = {"security.change_password", "security.logout", "static"}
OF_THE_SIGN_IN = ("_user_id", "_fresh", "_id", "fs_cc", "fs_paa")  # the values that signing in puts into a session
TIMES_FOR_AN_ADDRESS = 3  # as many wrong passwords as for one account there
KNOWN_COOKIE, KNOWN_SECONDS = "happe_known", 365 * 86400
OWN_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")  # a path that no browser reads as another host
REFUSED = ("The address, the password or the code is not right.", "error")


class NoRole(RoleMixin):
    """The server does not use Flask-Security's roles, because grants are by study (model/rights.py)."""


class SignIn(LoginForm):
    """Address, password, and the second factor's code, if any. The server remembers nobody beyond the session."""

    remember = None
    code = StringField()

    def validate(self, **more: Any) -> bool:  # noqa: ANN401 - theirs
        """Whether address, password and code are right."""
        if not super().validate(**more):
            return False
        if _is_right(self.user, self.code.data):
            return True
        self.form_errors = [REFUSED[0]]
        return False


class SignInAgain(VerifyForm):
    """Password, and the second factor's code, if the account has one."""

    code = StringField()

    def validate(self, **more: Any) -> bool:  # noqa: ANN401 - theirs
        """Whether password and code are right."""
        if not super().validate(**more):
            return False
        if _is_right(self.user, self.code.data):
            return True
        self.code.errors = ["This is not a code that your app shows now, or you have used it already."]
        return False


def _is_right(user: UserMixin | None, code: str | None) -> bool:
    if not isinstance(user, Account):
        return False
    if user.totp_secret is None:
        return True
    counts = limits.guess("login", {("code", str(user.id)): 1})  # whoever asks for it knows the password
    with parts().database.writing() as session:
        right = second_factor.accepts(session, parts().secrets, user, code or "")
    if right:
        limits.was_right(counts)
    return right


class Accounts(UserDatastore):
    """The interface by which Flask-Security finds and changes accounts."""

    def __init__(self, database: Database) -> None:
        """Use the accounts in this database."""
        super().__init__(Account, NoRole)
        self._database = database

    def find_user(self, case_insensitive: bool = False, session: object = None, **kwargs: object) -> Account | None:  # noqa: ARG002, FBT001, FBT002 - theirs
        """The account whose column (the keyword) has this value; None if there is none."""
        ((name, value),) = kwargs.items()
        if "\0" in str(value):
            return None
        column = getattr(Account, name)
        match = func.lower(column) == str(value).lower() if name == "email" else column == value
        with self._database.looking_up() as found:
            return found.scalars(select(Account).where(match).options(joinedload(Account.grants))).unique().first()

    def put(self, model: Account) -> Account:
        """Store only the model's password: its other fields may be out of date."""
        with self._database.writing() as kept:
            services.keep_password(kept, model)
        return model

    def commit(self) -> None:
        """Do nothing: `put` has committed."""


def install(app: Flask) -> None:
    """Add Flask-Security to an application."""
    found = app.extensions["happe"]
    app.config.update(_settings(found.secrets))
    security = Security(
        app, Accounts(found.database), register_blueprint=True, login_form=SignIn, verify_form=SignInAgain
    )
    security.want_json(lambda _request: False)
    security.login_manager.request_loader(lambda _request: None)  # Flask-Security's reads JSON bodies before the rules
    for endpoint in ASKS_PASSWORD:
        app.view_functions[endpoint] = _counted(app.view_functions[endpoint])
    user_authenticated.connect(_renew_session, app)
    user_logged_out.connect(_end_sessions, app)

    @app.before_request
    def _lead_to_new_password() -> None:
        given = current_user.is_authenticated and current_user.password_given
        if given and "Authorization" not in request.headers and request.endpoint not in OPEN_WITH_GIVEN_PASSWORD:
            detail = "Choose your own password first: somebody else knows your current one."
            raise Problem(HTTPStatus.FORBIDDEN, "password-given", detail)

    @app.before_request
    def _stay_here() -> None:
        if request.blueprint == "security":
            for place in (*request.args.getlist("next"), *request.form.getlist("next")):
                if place and not OWN_PATH.fullmatch(place):
                    raise bad_request("`next` is not a path of this server.")


# RFC 9106's second recommended option; the memory is in KiB. The library's own choice differs by version.
ARGON2 = {"argon2__time_cost": 3, "argon2__memory_cost": 65536, "argon2__parallelism": 4}


def _settings(secrets: Secrets) -> dict[str, Any]:
    return {
        "SECURITY_PASSWORD_HASH": "argon2",
        "SECURITY_PASSWORD_SCHEMES": ["argon2"],
        "SECURITY_PASSWORD_HASH_PASSLIB_OPTIONS": ARGON2,
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
        "SECURITY_MSG_PASSWORD_IS_THE_SAME": ("Choose a different password than before.", "error"),
        "SECURITY_MSG_RETYPE_PASSWORD_MISMATCH": ("The two passwords differ.", "error"),
        "SECURITY_MSG_PASSWORD_CHANGE": ("Your password is changed. Other sessions and tokens have ended.", "success"),
        "SECURITY_MSG_REAUTHENTICATION_SUCCESSFUL": ("Thank you. Continue within five minutes.", "success"),
    }


def _counted(view: Callable[[], Any]) -> Callable[[], Response]:
    """Count the wrong passwords that a view gets, and refuse more than `limits.login` allows.

    At the sign-in they count for the account at the sender's address, so nobody can lock an owner out from another
    address; and for the address, where people may mistype many accounts' passwords. A browser in which somebody has
    signed in to the account has its own count, so nobody can lock it out from the same address either. For somebody who
    is signed in, they count for the account.
    """

    @wraps(view)
    def counted() -> Response:
        if request.method != "POST":
            return make_response(view())
        if request.mimetype not in {"application/x-www-form-urlencoded", "multipart/form-data"}:
            raise Problem(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "Send a form.")
        signing_in = not current_user.is_authenticated
        account = (request.form.get("email", "") if signing_in else current_user.email).strip().lower()[:255]
        counts = limits.guess("login", _guessing(account) if signing_in else {("account", account): 1})
        response = make_response(view())
        if response.status_code == HTTPStatus.OK:
            log.warning("password refused", endpoint=request.endpoint)
            return response
        limits.was_right(counts)
        if signing_in and current_user.is_authenticated:
            _know_browser(response, account)
        return response

    return counted


def _guessing(account: str) -> dict[tuple[str, ...], int]:
    """For whom a password at the sign-in counts, each with a multiple of the limit."""
    if known := _known_browser(account):
        return {known: 1}
    here = limits.address()
    return {("account", account, here): 1, ("address", here): TIMES_FOR_AN_ADDRESS}


def _known_browser(account: str) -> tuple[str, str] | None:
    """The key of a browser's own count; None if nobody has signed in to this account with this browser."""
    try:
        known, browser = _signer().loads(request.cookies.get(KNOWN_COOKIE, ""), max_age=KNOWN_SECONDS)
    except (BadSignature, ValueError):
        return None
    return ("browser", browser) if known == account else None


def _know_browser(response: Response, account: str) -> None:
    """Set a cookie which says that somebody has signed in to this account. It gives no access."""
    https = parts().config.https
    response.set_cookie(
        KNOWN_COOKIE,
        _signer().dumps([account, new_secret()]),
        max_age=KNOWN_SECONDS,
        path="/sign-in",
        httponly=True,
        samesite="Strict",
        secure=https,
    )


def _signer() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(parts().secrets.session, salt=KNOWN_COOKIE)


def _renew_session(_app: Flask, **_about: object) -> None:
    """Empty the session at sign-in, so that values which somebody planted in it before are gone."""
    kept = {name: session[name] for name in OF_THE_SIGN_IN if name in session}
    session.clear()
    session.update(kept)
    g.pop("csrf_token", None)


def _end_sessions(app: Flask, user: Account, **_about: object) -> None:
    """End every session of the account at sign-out, so that a copied cookie no longer works."""
    with app.extensions["happe"].database.writing() as changed:
        services.end_sessions(changed, user.id)
