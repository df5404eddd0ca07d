# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages about accounts: for administrators the list and the roles, for everybody their own password and tokens.

Somebody who gives roles can open everything else, so those pages ask for the password again.
"""

import secrets
from typing import Any

from flask import Blueprint, Response, request, url_for
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.parts import parts
from happe_study.base.problems import Problem, not_found
from happe_study.model.accounts import Account
from happe_study.model.rights import Right, Role
from happe_study.model.rules import caller, signed_in, signed_in_again, staff
from happe_study.model.studies import Study
from happe_study.study.people import accounts as services
from happe_study.study.people import second_factor
from happe_study.web.api.accounts import named_study
from happe_study.web.staff_page import Input, counted, done, field, form_page, mistake, once_page, or_again, page

pages = Blueprint("account_pages", __name__)

ONE = "account_pages.account"
EVERY_STUDY = "*"
NEW = Markup(
    "<p>The server makes a first password and shows it once, on the next page. The owner changes it when they first "
    "sign in. Roles come afterwards.</p>"
)
PASSWORD_BYTES = 15  # of a password that the server makes: 20 characters


@pages.get("/accounts")
@staff(Right.ACCOUNT_MANAGE, everywhere=True)
def accounts() -> Response:
    """Every account."""
    with parts().database.reading() as session:
        rows = [(services.shown(session, account), account.password_given) for account in services.every(session)]
        return page("accounts", "Accounts", rows=rows)


@pages.get("/new-account")
@staff(Right.ACCOUNT_MANAGE, everywhere=True, fresh=True)
def new_account_form(problem: Problem | None = None) -> Response:
    """The form for a new account's address."""
    fields = (Input("email", "E-mail address", type="email"),)
    return form_page("New account", "Make the account", *fields, about=NEW, here="New", problem=problem, trail=_above())


@pages.post("/new-account")
@staff(Right.ACCOUNT_MANAGE, everywhere=True, fresh=True)
@or_again(new_account_form)
def new_account() -> Response:
    """Make an account, and show its first password once."""
    email, password = field("email", longest=254), secrets.token_urlsafe(PASSWORD_BYTES)
    with parts().database.writing() as session:
        made = services.create(session, caller(), email, password, given=True)
        return _password_page(made, password)


@pages.get("/accounts/<email>")
@staff(Right.ACCOUNT_MANAGE, everywhere=True, fresh=True)
def account(email: str, problem: Problem | None = None) -> Response:
    """One account and its roles."""
    with parts().database.reading() as session:
        found = services.get(session, email)
        names = session.scalars(select(Study.name).order_by(Study.name)).all()
        places = [(EVERY_STUDY, "every study"), *((name, name) for name in names)]
        facts: dict[str, Any] = {
            "account": services.shown(session, found),
            "given": found.password_given,
            "second_factor": found.totp_secret is not None,
            "own": found.id == caller().id,
        }
        roles = [(role, role.capitalize()) for role in Role]
        return page("account", found.email, problem=problem, trail=_above(), places=places, roles=roles, **facts)


@pages.post("/accounts/<email>")
@staff(Right.ACCOUNT_MANAGE, everywhere=True, fresh=True)
@or_again(account)
def change_account(email: str) -> AnyResponse:
    """Do what the pressed button says."""
    doing = CHANGES.get(request.form.get("do", ""))
    if doing is None:
        raise not_found()
    with parts().database.writing() as session:
        return doing(session, services.get(session, email))


@pages.get("/me")
@signed_in
def me() -> Response:
    """The caller's account."""
    with parts().database.reading() as session:
        mine = services.get(session, caller().name)
        tokens, has = services.token_count(session, mine), mine.totp_secret is not None
        return page("me", "You", account=services.shown(session, mine), tokens=tokens, second_factor=has)


@pages.get("/me/second-factor")
@signed_in_again
def second_factor_form(problem: Problem | None = None) -> Response:
    """The form that shows the secret for an app and asks for the first code that the app makes."""
    sent = request.form.get("secret", "")
    secret = sent if second_factor.is_secret(sent) else second_factor.new_secret()
    title, picture = "Codes from an app", second_factor.picture(secret, caller().name)
    return page("second_factor", title, problem=problem, trail=_mine(), secret=secret, picture=picture)


@pages.post("/me/second-factor")
@signed_in_again
@or_again(second_factor_form)
def set_up_second_factor() -> AnyResponse:
    """Turn the second factor on: each later sign-in asks for a code."""
    app = second_factor.App(field("secret", longest=64), field("code", longest=16))
    with parts().database.writing() as session:
        mine = services.get(session, caller().name)
        second_factor.set_up(session, parts().secrets, caller(), mine, app)
    return done("You need a code from your app to sign in from now on.", "account_pages.me")


@pages.post("/me/second-factor/end")
@signed_in_again
def end_second_factor() -> AnyResponse:
    """Turn the second factor off: each later sign-in asks only for the password."""
    with parts().database.writing() as session:
        second_factor.remove(session, caller(), services.get(session, caller().name))
    return done("You need only your password to sign in.", "account_pages.me")


@pages.get("/me/token")
@signed_in_again
def token_form(problem: Problem | None = None) -> Response:
    """The form that asks how long a new access token is valid."""
    hint = f"1 to {services.LONGEST_TOKEN_DAYS}"
    fields = (Input("days", "Valid for how many days", hint, "number", "30"),)
    return form_page("New access token", "Make it", *fields, here="New token", problem=problem, trail=_mine())


@pages.post("/me/token")
@signed_in_again
@or_again(token_form)
def token() -> Response:
    """Make an access token, and show it once."""
    days = field("days", longest=6)
    if not days.isascii() or not days.isdigit() or not 1 <= int(days) <= services.LONGEST_TOKEN_DAYS:
        raise mistake("days", f"Must be a number from 1 to {services.LONGEST_TOKEN_DAYS}.")
    with parts().database.writing() as session:
        made = services.issue_token(session, caller(), services.get(session, caller().name), int(days))
    about = f"Whoever has it can do what you can do, for {counted(int(days), 'day')}. "
    about += "Keep it in a file that only you can read."
    more = {"about": about, "then": url_for("account_pages.me"), "here": "Your token", "trail": _mine()}
    return once_page("Your access token", "token", "Access token", made, **more)


@pages.post("/me/tokens/end")
@signed_in
def end_tokens() -> AnyResponse:
    """End the caller's access tokens."""
    with parts().database.writing() as session:
        services.revoke_tokens(session, caller(), services.get(session, caller().name))
    return done("Your access tokens have ended.", "account_pages.me")


def _grant(session: Session, found: Account) -> AnyResponse:
    role, study, where = _role_and_study(session)
    services.grant(session, caller(), found, role, study)
    return done(f"{found.email} is {role} of {where}.", ONE, email=found.email)


def _revoke(session: Session, found: Account) -> AnyResponse:
    role, study, where = _role_and_study(session)
    services.revoke(session, caller(), found, role, study)
    return done(f"{found.email} is no longer {role} of {where}.", ONE, email=found.email)


def _disable(session: Session, found: Account) -> AnyResponse:
    services.disable(session, caller(), found)
    return done(f"{found.email} is disabled: sessions and tokens have ended.", "account_pages.accounts")


def _enable(session: Session, found: Account) -> AnyResponse:
    services.enable(session, caller(), found)
    return done(f"{found.email} can sign in again.", "account_pages.accounts")


def _give_password(session: Session, found: Account) -> AnyResponse:
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    services.set_password(session, caller(), found, password, given=True)
    return _password_page(found, password)


def _remove_second_factor(session: Session, found: Account) -> AnyResponse:
    second_factor.remove(session, caller(), found)
    return done(f"{found.email} needs only the password to sign in.", ONE, email=found.email)


CHANGES = {
    "grant": _grant, "revoke": _revoke, "disable": _disable, "enable": _enable, "password": _give_password,
    "second-factor": _remove_second_factor,
}  # fmt: skip


def _role_and_study(session: Session) -> tuple[Role, Study | None, str]:
    role, place = request.form.get("role", ""), request.form.get("study", "")
    if role not in set(Role):
        raise mistake("role", "Choose a role.")
    study = named_study(session, None if place == EVERY_STUDY else place)
    return Role(role), study, study.name if study else "every study"


def _password_page(account: Account, password: str) -> Response:
    about = f"Hand it to the owner of the account, {account.email}. They choose one of their own when they sign in."
    more = {"about": about, "then": url_for(ONE, email=account.email), "here": "Password", "trail": _above()}
    return once_page("The password of the account", "password", "Password", password, **more)


def _above() -> tuple[tuple[str, str], ...]:
    return ((url_for("account_pages.accounts"), "Accounts"),)


def _mine() -> tuple[tuple[str, str], ...]:
    return ((url_for("account_pages.me"), "You"),)
