# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server study verify`, `measure` and `retention`: what becomes of a study's data."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from happe_cli.commands import Command, json_option, print_answer, print_json
from happe_cli.errors import Failure
from happe_study.cli import named
from happe_study.cli.server import Server, pass_server
from happe_study.results.withdrawal import retention as planning
from happe_study.results.withdrawal.retention import Plan
from happe_study.study.checks.evidence import Check, Verdict
from happe_study.study.checks.gathering import Sources
from happe_study.study.checks.services import check_study
from happe_study.study.documents import InputError, measures_in, model_in
from happe_study.study.measuring.job import begin
from happe_study.study.traces.stores import storage_of

VERIFY = """Looks for mistakes in the chain from a laptop's clock to a run's watts: clocks that contradict each other,
runs that do not match their condition, lost parts and gaps of power traces, implausible watts, and anything
counted twice. Before the unblinding, no check reads data that could reveal a condition. The power comes from
--power, or else from the page Report of the study. The exit status is 1 if a check finds something.

Examples:
  happe-server study verify crossover
  happe-server study verify crossover --power measures.json --deep --json | jq '.checks[] | {check, verdict}'"""

file = click.Path(dir_okay=False, exists=True, path_type=Path)


@click.command(cls=Command, epilog=VERIFY)
@click.argument("name", metavar="STUDY")
@click.option("--power", type=file, metavar="FILE", help="The runs' measured power: happe-power-measures/1")
@click.option(
    "--machine", type=file, metavar="FILE", help="The machine's power model: happe-power-model/1  [the T61's]"
)
@click.option("--deep", is_flag=True, help="Read every byte of the power traces")
@json_option
@pass_server
def verify(  # noqa: PLR0913, PLR0917 - an option each
    server: Server,
    name: str,
    power: Path | None,
    machine: Path | None,
    deep: bool,  # noqa: FBT001 - click's flag
    as_json: bool,  # noqa: FBT001 - click's flag
) -> None:
    """Check a study's data for mistakes, and report the data and the result of each check."""
    measures, model = _read(power, measures_in), _read(machine, model_in)
    storage = storage_of(server.config, server.database)
    with server.reading() as session:
        study = named.study(session, name)
        checks = check_study(session, study, Sources(server.secrets.allocation, storage, model, measures, deep))
        state = study.state
    if as_json:
        print_json({"study": name, "state": state, "checks": [check.document() for check in checks]})
    else:
        _print_checks(checks)
    if any(check.verdict is Verdict.SUSPECT for check in checks):
        sys.exit(1)


def _read(path: Path | None, reader: Callable[[bytes, str], Any]) -> Any:  # noqa: ANN401 - what the reader makes
    try:
        return reader(path.read_bytes(), str(path)) if path else None
    except InputError as error:
        raise Failure(os.EX_DATAERR, *error.lines) from None


def _print_checks(checks: list[Check]) -> None:
    for check in checks:
        click.echo(f"{check.title}: {check.verdict}. Looked at {check.looked_at}.")
        for each in check.findings:
            click.echo(f"  {each.where}: {each.what}")
        for text in (*check.notes, *check.not_told):
            click.echo(f"  {text}")


MEASURE = """The server begins this by itself when you unblind a study that has power traces. Ask again when a
meter has sent a trace since then. It is a job: `happe-server job list` shows how far it is. The measures take
the place of earlier ones. The page Report shows them, with the reason for each run that has no figure.

Examples:
  happe-server study measure crossover
  happe-server study measure crossover --json | jq .job"""


@click.command(cls=Command, epilog=MEASURE)
@click.argument("name", metavar="STUDY")
@json_option
@pass_server
def measure(server: Server, name: str, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Measure the power of every run of an unblinded study, from its traces."""
    with server.writing() as session:
        number = begin(session, named.study(session, name), None).id
    said = f"Job {number} measures the power of {name}."
    print_answer({"study": name, "job": number}, said, as_json=as_json)


RETENTION = """Shows the day after which the server erases the participants' identities, and how many there are now.
Changes nothing. The table [retention] of the protocol sets the day. When it has passed, a worker asks for the
job within an hour. With --erase you ask for it at once. The job erases codes, links, answers, free text and
details of the audit log. It also removes reports and measured power, which you can make again.

Examples:
  happe-server study retention crossover
  happe-server study retention crossover --json
  happe-server study retention crossover --erase"""


@click.command(cls=Command, epilog=RETENTION)
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
