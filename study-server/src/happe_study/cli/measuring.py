# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server study measure`: asks for the power of every run of an unblinded study."""

from __future__ import annotations

import click

from happe_cli.commands import Command, json_option, print_json
from happe_study.cli import named
from happe_study.cli.server import Server, pass_server
from happe_study.evidence.measuring.services import begin

MORE = """The server begins this by itself when you unblind a study that has power traces. Ask again when a
meter has sent a trace since then. It is a job: `happe-server job list` shows how far it is. The measures take
the place of earlier ones. The page Report shows them, with the reason for each run that has no figure.

Examples:
  happe-server study measure crossover
  happe-server study measure crossover --json | jq .job"""


@click.command(cls=Command, epilog=MORE)
@click.argument("name", metavar="STUDY")
@json_option
@pass_server
def measure(server: Server, name: str, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Measure the power of every run of an unblinded study, from its traces."""
    with server.writing() as session:
        job = begin(session, named.study(session, name), None)
        number = job.id
    if as_json:
        print_json({"study": name, "job": number})
    else:
        click.echo(f"Job {number} measures the power of {name}.")
