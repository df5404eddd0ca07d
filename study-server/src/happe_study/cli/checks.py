# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server check`."""

from __future__ import annotations

from dataclasses import asdict

import click

from happe_cli.commands import Command, json_option, print_json
from happe_cli.errors import EX_CHECK_FAILED
from happe_study.cli.server import Server, pass_server
from happe_study.evidence.traces import upkeep
from happe_study.evidence.traces.stores import storage_of
from happe_study.operations import worker
from happe_study.operations.checking import Verdict
from happe_study.operations.checking import check as look

MORE = """The server may run. Prints ok, warn or fail for each check, and what to do. The exit status is 1 if a check
fails. --deep also reads every part of every trace and compares it with its SHA-256. --sweep first removes
what interrupted work left on the disk: unfinished uploads, and the unsealed data of unfinished jobs. It
deletes parts of traces that the database does not know 30 days after the first --sweep that found them.

Examples:
  happe-server check
  happe-server check --deep --sweep    # weekly
  happe-server check --json | jq '.[] | select(.verdict != "ok")'"""


@click.command(cls=Command, epilog=MORE)
@click.option("--deep", is_flag=True, help="Read every byte of the traces")
@click.option("--sweep", is_flag=True, help="Remove the files that interrupted uploads and jobs left")
@json_option
@pass_server
@click.pass_context
def check(context: click.Context, server: Server, deep: bool, sweep: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """Check the configuration, secrets, database, audit log, traces and free room."""
    if sweep:
        server.require_revision()
        upkeep.sweep(server.database, storage_of(server.config, server.database))
        worker.sweep(server.database, server.config.data)
    findings = list(look(server.path, server.config, server.database, deep=deep))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for each in findings:
            click.echo(f"{each.verdict:<4}  {each.what}: {each.detail}")
            if each.advice:
                click.echo(f"      {each.advice}")
    if any(finding.verdict is Verdict.FAIL for finding in findings):
        context.exit(EX_CHECK_FAILED)
