# SPDX-License-Identifier: GPL-2.0-or-later
"""The questions of `happe-server init`: where the database is, and who does what in the lab."""

import os
from collections.abc import Sequence

import click

from happe_cli.errors import Failure
from happe_study.base.config import read_url
from happe_study.base.problems import Problem
from happe_study.model.rights import Role, conflicts
from happe_study.operations.setting_up import Person
from happe_study.study.people import accounts

TASKS = {
    Role.INVESTIGATOR: "writes the protocol, locks the study, makes the report; sees no condition before unblinding",
    Role.EXPERIMENTER: "invites the participants and runs the sittings",
    Role.ANALYST: "exports and analyses the data",
    Role.CUSTODIAN: "unblinds the study, and therefore does none of the above",
    Role.AUDITOR: "reads the audit log",
    Role.REVIEWER: "judges the learned profiles after unblinding",
}
DATABASE = """Where does the server keep its data? Press Enter for SQLite, a file in the data folder. That is enough
for one server. Servers on several machines share a PostgreSQL database. Type its URL, without the
password: for example postgresql+psycopg://happe@db.example.org/happe"""
ADMINISTRATOR = """The administrator makes accounts and enrols devices. To keep studies blind, the administrator
must take no part in rating or analysis."""
LAB = """Who does what in your lab? Give an e-mail address for each role, or press Enter to leave the role for later
(`happe-server user grant`). One person can have several roles, unless they exclude each other. These roles
hold in every study. The server makes a first password for each person."""


def _role(_context: click.Context, _parameter: click.Parameter, texts: Sequence[str]) -> list[tuple[Role, str]]:
    """The option's values as roles and addresses."""
    pairs = []
    for text in texts:
        role, _, email = text.partition("=")
        if role not in set(TASKS) or not email:
            raise click.BadParameter(f"{text}: write ROLE=EMAIL, with a role of {', '.join(TASKS)}")
        pairs.append((Role(role), _email(email)))
    return pairs


def email_given(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    """The option's value as an address."""
    return None if text is None else _email(text)


role_option = click.option(
    "--role", "roles", multiple=True, metavar="ROLE=EMAIL", callback=_role, help="A person of the lab, and their role"
)


def database_url() -> str | None:
    """PostgreSQL's URL as the user types it; None for SQLite."""
    click.echo(DATABASE, err=True)
    url: str = click.prompt("Database", default="", show_default=False, value_proc=_postgresql, err=True)
    if not url:
        return None
    read = read_url(url)
    if not read.host or read.password is not None:
        return url
    password = click.prompt("Its password, or Enter", default="", show_default=False, hide_input=True, err=True)
    return read.set(password=password or None).render_as_string(hide_password=False)


def _postgresql(text: str) -> str:
    try:
        url = read_url(text.strip()) if text.strip() else None
    except ValueError as error:
        raise click.BadParameter(f"this {error}") from error
    if url and url.drivername == "sqlite":
        raise click.BadParameter("press Enter for SQLite")
    return text.strip()


def administrator(given: Sequence[tuple[Role, str]]) -> str:
    """The first administrator's address. `given` has the other roles, as far as options say them."""

    def free(text: str) -> str:
        email = _email(text)
        if others := conflicts(Role.ADMINISTRATOR, _held(given, email)):
            raise click.BadParameter(f"{email} is {_words(others)}, which excludes {Role.ADMINISTRATOR}")
        return email

    click.echo(f"\n{ADMINISTRATOR}", err=True)
    email: str = click.prompt("E-mail address of the first administrator", value_proc=free, err=True)
    return email


def roles(email: str) -> list[tuple[Role, str]]:
    """Ask who has which role. `email` is the administrator's address."""
    click.echo(f"\n{LAB}", err=True)
    given: list[tuple[Role, str]] = []
    for role, task in TASKS.items():
        while who := _asked(role, task):
            if others := conflicts(role, _held([(Role.ADMINISTRATOR, email), *given], who)):
                click.echo(f"{who} is {_words(others)}, which excludes {role}; give another address", err=True)
            else:
                given.append((role, who))
                break
    return given


def _asked(role: Role, task: str) -> str:
    click.echo(f"  {role}: {task}", err=True)
    name = f"  {role.capitalize()}"
    address: str = click.prompt(name, default="", show_default=False, value_proc=_email_or_nobody, err=True)
    return address


def _email_or_nobody(text: str) -> str:
    return text and _email(text)


def _email(text: str) -> str:
    try:
        return accounts.address(text.strip())
    except Problem as problem:
        raise click.BadParameter(problem.errors[0].detail) from problem


def people(administrator_email: str, given: Sequence[tuple[Role, str]]) -> list[Person]:
    """The people with their roles, the administrator first. Raises Failure for roles that exclude each other."""
    pairs = [(Role.ADMINISTRATOR, administrator_email)]
    for role, who in given:
        if others := conflicts(role, _held(pairs, who)):
            raise Failure(os.EX_DATAERR, f"{who} is {_words(others)}, which excludes {role}; nothing was done")
        pairs.append((role, who))
    emails = dict.fromkeys(email for _, email in pairs)
    return [Person(email, tuple(role for role in Role if (role, email) in pairs)) for email in emails]


def _held(pairs: Sequence[tuple[Role, str]], email: str) -> set[Role]:
    return {role for role, whose in pairs if whose == email}


def _words(held: set[Role]) -> str:
    return " and ".join(sorted(held))
