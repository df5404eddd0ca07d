# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts with passwords and signed-in browsers, with which tests begin."""

import re
from http import HTTPStatus

from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from happe_study.model.accounts import Grant
from happe_study.model.rights import Role
from happe_study.study.people import accounts as services
from world import World

PASSWORD = "correct horse battery staple"  # noqa: S105 - of nobody
CSRF = re.compile(r'name="csrf_token" value="([^"]+)"')


def account(
    world: World, *roles: Role, study_id: int | None = None, email: str = "ada@example.org", given: bool = False
) -> str:
    """Make an account with PASSWORD, and return its address."""
    with world.app.app_context(), world.database.writing() as session:
        made = services.create(session, None, email, PASSWORD, given=given)
        made.grants = [Grant(role=role, study_id=study_id) for role in roles]
    return email


def token_of(page: TestResponse) -> str:
    """The token against forgery in a page's first form."""
    found = CSRF.search(page.text)
    assert found, page.text
    return found[1]


def post(client: FlaskClient, path: str, *, page: str | None = None, **form: str | list[str]) -> TestResponse:
    """Fill in the form of a page (by default of `path`), and send it to `path`."""
    return client.post(path, data={"csrf_token": token_of(client.get(page or path)), **form})


def sign_in(client: FlaskClient, email: str, password: str = PASSWORD, **form: str) -> TestResponse:
    """Fill in the sign-in form."""
    return post(client, "/sign-in", email=email, password=password, **form)


def browser(world: World, *roles: Role, study_id: int | None = None, email: str = "ada@example.org") -> FlaskClient:
    """A browser signed in to a new account."""
    client = world.client()
    answer = sign_in(client, account(world, *roles, study_id=study_id, email=email))
    assert answer.status_code == HTTPStatus.FOUND, answer.text
    return client
