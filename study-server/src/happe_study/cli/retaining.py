# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server study retention`: when a study erases its participants' identities."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from happe_cli.commands import Command, json_option, print_json
from happe_cli.errors import Failure
from happe_study.cli import named
from happe_study.cli.server import Server, pass_server
from happe_study.results.withdrawal import retention as planning

if TYPE_CHECKING:
    from happe_study.results.withdrawal.retention import Plan

MORE = """Shows the day after which the server erases the participants' identities, and the number of identities now.
Changes nothing. The table [retention] of the protocol sets the day. When it has passed, a worker asks for the
job within an hour. With --erase you ask for it at once. The job erases codes, links, answers, free text and
details of the audit log. It also removes reports and measured power, which you can make again.

Examples:
  happe-server study retention crossover
  happe-server study retention crossover --json
  happe-server study retention crossover --erase"""


@click.command(cls=Command, epilog=MORE)
@click.argument("name", metavar="STUDY")
@click.option("--erase", is_flag=True, help="Ask for the job now, if the day has passed")
@json_option
@pass_server
def retention(server: Server, name: str, erase: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """Show when a study erases its participants' identities."""
    with server.reading() as session:
        plan = planning.plan(session, named.study(session, name))
    number = _ask(server, name) if erase else None
    if as_json:
        print_json(_facts(plan) | ({"job": number} if number else {}))
    elif number is not None:
        click.echo(f"Job {number} erases the identities of {name}: `happe-server job list` shows it.")
    else:
        click.echo(_said(plan))


def _ask(server: Server, name: str) -> int:
    with server.writing() as session:
        return planning.ask(session, named.study(session, name), None).id


def _facts(plan: Plan | None) -> dict[str, object]:
    if plan is None:
        return {"after": None, "participants": 0, "due": False}
    return {"after": plan.after.isoformat() if plan.after else None, "participants": plan.people, "due": plan.is_due}


def _said(plan: Plan | None) -> str:
    if plan is None:
        raise Failure(os.EX_NOINPUT, "the protocol has no table [retention]: the server never erases identities")
    if plan.after is None:
        when = f"{plan.days_after_unblinding} days after the unblinding"
    else:
        when = "now, as their time ended on" if plan.is_due else "after"
        when += f" {plan.after}"
    return f"The server erases identities {when}: {plan.people} as of now."
