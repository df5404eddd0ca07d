# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts for programs."""

from typing import Any

from apiflask import APIBlueprint
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from happe_study.base.fields import Closed
from happe_study.base.parts import parts
from happe_study.base.problems import not_found
from happe_study.model.rights import Right, Role
from happe_study.model.rules import caller, signed_in, signed_in_again, staff
from happe_study.model.studies import Study
from happe_study.study.people import accounts as services

api = APIBlueprint("accounts", __name__, url_prefix="/api/v1", tag="Accounts")


class NewAccount(Closed):
    """A new account. Its owner changes the password at the first sign-in."""

    email: str = Field(max_length=254)
    password: str = Field(min_length=services.SHORTEST_PASSWORD, max_length=services.LONGEST_PASSWORD)


class GrantIn(Closed):
    """A role, in one study or, without one, in all."""

    role: Role
    study: str | None = Field(None, max_length=255)


class Days(Closed):
    """How long a token is valid."""

    days: int = Field(30, ge=1, le=services.LONGEST_TOKEN_DAYS)


class GrantOut(BaseModel):
    """A role that an account has."""

    role: Role
    study: str | None


class AccountOut(BaseModel):
    """An account."""

    email: str
    active: bool
    grants: list[GrantOut]


class AccountsOut(BaseModel):
    """All accounts, by address."""

    accounts: list[AccountOut]


class TokenOut(BaseModel):
    """An access token. The server shows it only once."""

    token: str


@api.get("/me")
@signed_in
@api.output(AccountOut)
def me() -> dict[str, Any]:
    """Read the account whose token or session this is."""
    with parts().database.reading() as session:
        return services.shown(session, services.get(session, caller().name))


@api.post("/me/tokens")
@signed_in_again
@api.input(Days, location="json")
@api.output(TokenOut, status_code=201)
def make_token(json_data: Days) -> dict[str, str]:
    """Make an access token for scripts, with the caller's rights. The server shows it only once."""
    with parts().database.writing() as session:
        account = services.get(session, caller().name)
        return {"token": services.issue_token(session, caller(), account, json_data.days)}


@api.get("/accounts")
@staff(Right.ACCOUNT_MANAGE, everywhere=True)
@api.output(AccountsOut)
def list_accounts() -> dict[str, Any]:
    """List all accounts."""
    with parts().database.reading() as session:
        return {"accounts": [services.shown(session, account) for account in services.every(session)]}


@api.post("/accounts")
@staff(Right.ACCOUNT_MANAGE, everywhere=True)
@api.input(NewAccount, location="json")
@api.output(AccountOut, status_code=201)
@api.doc(responses={409: "An account with this address exists already."})
def create_account(json_data: NewAccount) -> dict[str, Any]:
    """Make an account without roles."""
    with parts().database.writing() as session:
        account = services.create(session, caller(), json_data.email, json_data.password, given=True)
        return services.shown(session, account)


@api.post("/accounts/<email>/grants")
@staff(Right.ACCOUNT_MANAGE, everywhere=True, fresh=True)
@api.input(GrantIn, location="json")
@api.output(AccountOut)
@api.doc(responses={409: "The roles exclude each other, or the account is the caller's own."})
def grant(email: str, json_data: GrantIn) -> dict[str, Any]:
    """Give an account a role."""
    with parts().database.writing() as session:
        account = services.get(session, email)
        study = named_study(session, json_data.study)
        services.grant(session, caller(), account, json_data.role, study)
        return services.shown(session, account)


@api.post("/accounts/<email>/revoke")
@staff(Right.ACCOUNT_MANAGE, everywhere=True, fresh=True)
@api.input(GrantIn, location="json")
@api.output(AccountOut)
@api.doc(responses={409: "It is the last administrator, or the caller's own role."})
def revoke(email: str, json_data: GrantIn) -> dict[str, Any]:
    """Take a role from an account."""
    with parts().database.writing() as session:
        account = services.get(session, email)
        services.revoke(session, caller(), account, json_data.role, named_study(session, json_data.study))
        return services.shown(session, account)


@api.post("/accounts/<email>/disable")
@staff(Right.ACCOUNT_MANAGE, everywhere=True)
@api.output(AccountOut)
@api.doc(responses={409: "It is the last administrator."})
def disable(email: str) -> dict[str, Any]:
    """End an account's sessions and tokens, and refuse its sign-in."""
    with parts().database.writing() as session:
        account = services.get(session, email)
        services.disable(session, caller(), account)
        return services.shown(session, account)


@api.post("/accounts/<email>/enable")
@staff(Right.ACCOUNT_MANAGE, everywhere=True)
@api.output(AccountOut)
def enable(email: str) -> dict[str, Any]:
    """Let a disabled account sign in again."""
    with parts().database.writing() as session:
        account = services.get(session, email)
        services.enable(session, caller(), account)
        return services.shown(session, account)


def named_study(session: Session, name: str | None) -> Study | None:
    """The study of a name; None for no name. Raises Problem 404."""
    if name is None:
        return None
    study = session.query(Study).filter_by(name=name).one_or_none()
    if study is None:
        raise not_found()
    return study
