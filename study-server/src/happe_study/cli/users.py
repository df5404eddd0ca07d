# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server user`: accounts of staff, their roles and tokens."""

import os
from pathlib import Path

import click

from happe_cli.commands import Group, examples, json_option, print_answer, print_json
from happe_cli.errors import Failure
from happe_study.cli import named, passwords
from happe_study.cli.server import Server, pass_server
from happe_study.model.rights import Role
from happe_study.study.people import accounts as services
from happe_study.study.people import second_factor

MORE = f"""Roles: {", ".join(Role)}.
Some exclude each other in one study: a custodian, who unblinds it, can't also run, rate or analyse it.

{
    examples(
        "happe-server user add ana@example.org",
        "happe-server user grant ana@example.org investigator --study paper-a3",
        "happe-server user token ana@example.org --days 7",
        "happe-server user disable ana@example.org",
    )
}"""

email_argument = click.argument("email")
role_argument = click.argument("role", type=click.Choice([str(role) for role in Role]))
study_option = click.option("--study", "study_name", metavar="STUDY", help="Only in this study  [in every study]")


@click.group(cls=Group, epilog=MORE)
def user() -> None:
    """Accounts of staff: add, list, roles, passwords, tokens."""


@user.command(
    epilog=examples("happe-server user add ana@example.org", "happe-server user add ana@example.org --password-file -")
)
@email_argument
@passwords.password_file
@pass_server
def add(server: Server, email: str, password_file: Path | None) -> None:
    """Make an account, without any role yet.

    Its owner changes the password at the first sign-in.
    """
    with server.reading() as session:  # before the question
        services.require_free(session, email)
    password = passwords.new(password_file, email)
    with server.writing() as session:
        account = services.create(session, None, email, password, given=True)
        address = account.email
    click.echo(f"Made {address}. It has no role yet: happe-server user grant {address} ROLE --study STUDY")


@user.command(
    "list", epilog=examples("happe-server user list", "happe-server user list --json | jq '.[] | select(.active)'")
)
@json_option
@pass_server
def list_(server: Server, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """List accounts with their roles."""
    with server.reading() as session:
        accounts = [services.shown(session, account) for account in services.every(session)]
    if as_json:
        print_json(accounts)
        return
    for account in accounts:
        roles = ", ".join(f"{g['role']} of {g['study'] or 'every study'}" for g in account["grants"])
        click.echo(f"{account['email']}{'' if account['active'] else ' (disabled)'}: {roles or 'no role'}")


@user.command(epilog=examples("happe-server user disable ana@example.org"))
@email_argument
@pass_server
def disable(server: Server, email: str) -> None:
    """End an account's sessions and tokens, and refuse its sign-in."""
    with server.writing() as session:
        services.disable(session, None, named.account(session, email))
    click.echo(f"{email} can't sign in any more. `happe-server user enable {email}` undoes it.")


@user.command(epilog=examples("happe-server user enable ana@example.org"))
@email_argument
@pass_server
def enable(server: Server, email: str) -> None:
    """Let a disabled account sign in again."""
    with server.writing() as session:
        services.enable(session, None, named.account(session, email))
    click.echo(f"{email} can sign in again; its old tokens stay revoked.")


@user.command(epilog=examples("happe-server user password ana@example.org"))
@email_argument
@passwords.password_file
@pass_server
def password(server: Server, email: str, password_file: Path | None) -> None:
    """Give an account another password, and end its sessions.

    Its owner changes it at the next sign-in.
    """
    with server.reading() as session:
        named.account(session, email)
    chosen = passwords.new(password_file, email)
    with server.writing() as session:
        services.set_password(session, None, named.account(session, email), chosen, given=True)
    click.echo(f"{email} has another password.")


@user.command(epilog=examples("happe-server user unpair ana@example.org"))
@email_argument
@pass_server
def unpair(server: Server, email: str) -> None:
    """Let an account sign in with the password only, after its owner lost the phone."""
    with server.writing() as session:
        second_factor.remove(session, None, named.account(session, email))
    click.echo(f"{email} needs only the password to sign in.")


@user.command(epilog=examples("happe-server user grant ana@example.org investigator --study paper-a3"))
@email_argument
@role_argument
@study_option
@pass_server
def grant(server: Server, email: str, role: str, study_name: str | None) -> None:
    """Give an account a role."""
    with server.writing() as session:
        study = named.study(session, study_name) if study_name else None
        services.grant(session, None, named.account(session, email), Role(role), study)
    click.echo(f"{email} is {role} of {study_name or 'every study'}.")


@user.command(epilog=examples("happe-server user revoke ana@example.org investigator --study paper-a3"))
@email_argument
@role_argument
@study_option
@pass_server
def revoke(server: Server, email: str, role: str, study_name: str | None) -> None:
    """Take a role from an account."""
    with server.writing() as session:
        study = named.study(session, study_name) if study_name else None
        services.revoke(session, None, named.account(session, email), Role(role), study)
    click.echo(f"{email} is no longer {role} of {study_name or 'every study'}.")


@user.command(epilog=examples("happe-server user token ana@example.org --days 7 >token && chmod 600 token"))
@email_argument
@click.option(
    "--days",
    type=click.IntRange(1, services.LONGEST_TOKEN_DAYS),
    default=30,
    show_default=True,
    metavar="N",
    help="How long it is valid",
)
@json_option
@pass_server
def token(server: Server, email: str, days: int, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Make an access token for scripts, with the account's rights.

    It is shown only once; the server keeps only its SHA-256. Send it as `Authorization: Bearer TOKEN`.
    """
    with server.writing() as session:
        account = named.account(session, email)
        if account.password_given:
            raise Failure(os.EX_DATAERR, f"{email} must first sign in and change the password that somebody else chose")
        secret = services.issue_token(session, None, account, days)
    print_answer({"token": secret, "days": days}, secret, as_json=as_json)
