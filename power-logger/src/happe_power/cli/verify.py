# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power verify`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, json_option, print_json
from happe_cli.errors import EX_CHECK_FAILED
from happe_power import verify as checks
from happe_power.cli.host import Host, pass_host
from happe_power.recording import store

if TYPE_CHECKING:
    from pathlib import Path

    from happe_power.verify import Report

MORE = """Reads every file again. Checks sizes, SHA-256, footers, rows and the order of times, and that each index is
in one part or in one gap. In a trace in progress it checks only the closed parts. The exit status is 1 if
something is wrong. --repair ends a trace that a recorder left open. It never changes a part.

Examples:
  happe-power verify 2b1e5a52
  happe-power verify --json /var/lib/happe-power/spool/*/*"""


@click.command(cls=Command, epilog=MORE)
@click.argument("traces", metavar="TRACE", nargs=-1, required=True)
@click.option("--repair", is_flag=True, help="End traces that were left open")
@json_option
@pass_host
@click.pass_context
def verify(context: click.Context, host: Host, traces: tuple[str, ...], repair: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """Read all of a trace again, and report faults."""
    folders = [host.trace(name) for name in traces]
    done = {folder: _repaired(folder) for folder in folders} if repair else {}
    reports = [checks.verify(folder) for folder in folders]
    if as_json:
        print_json([_as_json(report, done.get(report.folder, [])) for report in reports])
    else:
        for report in reports:
            _print(report, done.get(report.folder, []))
    if not all(report.good for report in reports):
        context.exit(EX_CHECK_FAILED)


def _repaired(folder: Path) -> list[str]:
    """End the trace if it is still open. Return a line for each repair."""
    if (folder / "manifest.json").exists():
        return []
    ended = "manifest.json: the trace was left open; it is ended now"
    return [found.problem or ended for found in store.recover_trace(folder)]


def _as_json(report: Report, done: list[str]) -> dict[str, Any]:
    return asdict(report) | {"folder": str(report.folder), "good": report.good, "repaired": done}


def _print(report: Report, done: list[str]) -> None:
    for line in done:
        click.echo(f"{report.folder}: {line}")
    for problem in report.problems:
        click.echo(f"{report.folder / problem.file}: {problem.detail}")
    word = "good" if report.good else f"{len(report.problems)} wrong"
    counts = f"{report.parts} parts, {report.samples} samples, {report.lost} lost"
    click.echo(f"{report.folder}: {word} ({report.state}; {counts})")
