# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server study verify`: the checks of a study's data that its researcher sees."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, json_option, print_json
from happe_cli.errors import Failure
from happe_study.cli import named
from happe_study.cli.server import Server, pass_server
from happe_study.evidence.checks.findings import Verdict
from happe_study.evidence.checks.services import check_study
from happe_study.evidence.documents.reading import InputError, measures_in, model_in
from happe_study.evidence.traces.stores import storage_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from happe_study.evidence.checks.findings import Check

MORE = """Looks for mistakes in the chain from a laptop's clock to a run's watts: clocks that contradict each other,
runs that do not match their condition, lost parts and gaps of power traces, implausible watts, and anything
counted twice. Before the unblinding, no check reads data that could reveal a condition. The power comes from
--power, or else from the page Report of the study. The exit status is 1 if a check finds something.

Examples:
  happe-server study verify crossover
  happe-server study verify crossover --power measures.json --deep --json | jq '.checks[] | {check, verdict}'"""

file = click.Path(dir_okay=False, exists=True, path_type=Path)


@click.command(cls=Command, epilog=MORE)
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
    given = {"measures": _read(power, measures_in), "model": _read(machine, model_in)}
    storage = storage_of(server.config, server.database)
    with server.reading() as session:
        study = named.study(session, name)
        checks = check_study(session, study, server.secrets.allocation, storage, deep=deep, **given)
        state = study.state
    if as_json:
        print_json({"study": name, "state": state, "checks": [check.document() for check in checks]})
    else:
        _print(checks)
    if any(check.verdict is Verdict.SUSPECT for check in checks):
        sys.exit(1)


def _read(path: Path | None, reader: Callable[[bytes, str], Any]) -> Any:  # noqa: ANN401 - what the reader makes
    try:
        return reader(path.read_bytes(), str(path)) if path else None
    except InputError as error:
        raise Failure(os.EX_DATAERR, *error.lines) from None


def _print(checks: list[Check]) -> None:
    for check in checks:
        click.echo(f"{check.title}: {check.verdict}. Looked at {check.looked_at}.")
        for each in check.findings:
            click.echo(f"  {each.where}: {each.what}")
        for text in (*check.notes, *check.not_told):
            click.echo(f"  {text}")
