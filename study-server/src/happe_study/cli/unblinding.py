# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server study unblind`: by a custodian, with a password, a reason, and the name typed out.

A study that is unfinished needs a second reason.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

import click
from flask_security.utils import verify_password
from sqlalchemy.orm import Session

from happe_cli.commands import Command, json_option, print_json
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_study.base.clock import now_us
from happe_study.base.problems import Problem
from happe_study.cli import named, passwords
from happe_study.cli.errors import PROGRAM
from happe_study.cli.server import Server, pass_server
from happe_study.model.accounts import Account
from happe_study.model.rights import Right
from happe_study.model.rules import Caller
from happe_study.model.studies import Study
from happe_study.results.gate import excluded, unfinished
from happe_study.results.unblinding import Order, require_reason, revealed_by, unblind_run
from happe_study.results.unblinding import unblind as unblind_study
from happe_study.study.people import accounts, second_factor
from happe_study.study.people.callers import staff_caller
from happe_study.study.runs import services as runs
from happe_study.study.studies import custodians

MORE = """Asks for the custodian's address, password and reason, unless they are given. You confirm by typing the
study's name (or the run's code). This can't be undone. The audit log records who did it and why.

The command first lists what is unfinished (free places, people, runs, records, power and checks) and what is
excluded. If anything is unfinished, it asks why you unblind all the same. The report shows that reason as a
deviation. After the unblinding, an exclusion is a sensitivity analysis only.

With --run, the custodian sees the condition of one run, for an emergency. The server does not store it
unsealed, and everybody else stays blind.

Examples:
  happe-server study unblind paper-a3 --custodian carl@example.org
  happe-server study unblind paper-a3 --override 'the laptop broke, and nobody can play the last two runs'
  happe-server study unblind paper-a3 --run 7K2M9QXA --custodian carl@example.org"""


def _why(text: str) -> str:
    try:
        require_reason(text)
    except Problem as problem:
        raise click.BadParameter(problem.errors[0].detail) from problem
    return text


def _why_given(_context: click.Context, _parameter: click.Parameter, text: str | None) -> str | None:
    return None if text is None else _why(text)


@click.command(cls=Command, epilog=MORE)
@click.argument("name", metavar="STUDY")
@click.option("--run", "run_code", metavar="CODE", help="Only one run, in an emergency")
@click.option("--custodian", metavar="EMAIL", help="The custodian's address  [asked for]")
@click.option("--reason", metavar="TEXT", callback=_why_given, help="Why, for the audit log  [asked for]")
@click.option("--override", metavar="TEXT", callback=_why_given, help="Why although it is unfinished  [asked for]")
@passwords.password_file
@json_option
@pass_server
def unblind(  # noqa: PLR0913, PLR0917 - an option each
    server: Server,
    name: str,
    run_code: str | None,
    custodian: str | None,
    reason: str | None,
    override: str | None,
    password_file: Path | None,
    as_json: bool,  # noqa: FBT001 - click's flag
) -> None:
    """Reveal the conditions of a study for good, or of one run to the custodian."""
    if run_code and override:
        raise click.UsageError("--override is for a study: an emergency with --run needs none")
    with server.reading() as session:
        study = named.study(session, name)
        if run_code:
            reveals = revealed_by(session, study, runs.find(session, study.id, run_code))
            others = f"also reveals the conditions of {', '.join(reveals)}" if reveals else "reveals no other run's"
            PROGRAM.show([f"the condition of {run_code} {others}; the audit log will say so"])
        lacks, out = ([], []) if run_code else (unfinished(session, study), excluded(session, study))
        PROGRAM.show([*(f"unfinished: {each}" for each in lacks), *(f"excluded: {each}" for each in out)])
    email, password, has_app = _signed_in(server, name, custodian, password_file)
    if has_app:
        click.prompt("The code from your app", value_proc=partial(_accepted, server, email), err=True)
    why = reason or click.prompt("Why", value_proc=_why, err=True)
    if lacks and not override:
        override = click.prompt("Why although it is unfinished (Ctrl-C ends this)", value_proc=_why, err=True)
    what, wanted = ("the code of the run", run_code) if run_code else ("the name of the study", name)
    typed = click.prompt(f"Type {what} to unblind it", value_proc=partial(_repeated, wanted), err=True)
    with server.writing() as session:
        study = named.study(session, name)
        order = Order(_custodian(session, server, email, password, study)[1], why, typed, override or "")
        found = _unblinded(session, server, study, run_code, order)
    if as_json:
        print_json(found)
    else:
        click.echo(f"{run_code}: {found['condition']}" if run_code else f"{name} is unblinded.")
    if not found.get("agrees", True):
        raise Failure(
            EX_CHECK_FAILED,
            "the sealed allocation differs from what seed and salt give, or a record does not open; see --json "
            "or the audit log",
        )


def _signed_in(server: Server, name: str, custodian: str | None, password_file: Path | None) -> tuple[str, str, bool]:
    """The custodian's address and password, asked for until they are right; and whether the account has an app."""
    while True:
        email = custodian or click.prompt("The custodian's e-mail address", err=True)
        password = passwords.read(password_file, email)
        try:
            with server.app.app_context(), server.reading() as session:
                account = _custodian(session, server, email, password, named.study(session, name))[0]
                return email, password, account.totp_secret is not None
        except _WrongError as wrong:
            if custodian and password_file:
                raise
            PROGRAM.show(wrong.lines)


def _accepted(server: Server, email: str, text: str) -> str:
    """A code, which is used from now on."""
    with server.writing() as session:
        if not second_factor.accepts(session, server.secrets, named.account(session, email), text):
            raise click.BadParameter("the app does not show this code now, or you have used it already")
    return text


def _repeated(wanted: str, text: str) -> str:
    if text != wanted:
        raise click.BadParameter(f"this is not {wanted}; nothing is unblinded yet, Ctrl-C ends this")
    return text


class _WrongError(Failure):
    """The address or the password is wrong: one can try again."""


def _unblinded(session: Session, server: Server, study: Study, code: str | None, order: Order) -> dict[str, Any]:
    if code is None:
        return {"study": study.name, **unblind_study(session, study, server.secrets, order).summary()}
    run = runs.find(session, study.id, code)
    return {"run": run.code, "condition": unblind_run(session, study, run, server.secrets, order)}


def _custodian(session: Session, server: Server, email: str, password: str, study: Study) -> tuple[Account, Caller]:
    """The account and its caller, if it may unblind the study now. This does not check the second factor."""
    account = accounts.find(session, email)
    if account is None or not account.active or not account.password or not verify_password(password, account.password):
        raise _WrongError(
            os.EX_NOPERM, "no account that can sign in has this address and password; nothing was unblinded"
        )
    if account.password_given:
        raise Failure(os.EX_NOPERM, "somebody else chose this password; sign in and change it first")
    who = staff_caller(account.id, account.email, account.grants, now_us())
    if not who.may(Right.UNBLIND, study.id):
        advice = f"`happe-server user grant {account.email} custodian --study {study.name}` by an administrator"
        raise Failure(os.EX_NOPERM, f"{account.email} is not a custodian of {study.name}; {advice}")
    custodians.require(session, study, who, server.config.custodian_wait_hours)
    return account, who
