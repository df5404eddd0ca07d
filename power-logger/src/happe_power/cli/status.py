# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power status` and `happe-power verify`."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, is_terminal, json_option, print_json, print_table
from happe_cli.errors import EX_CHECK_FAILED
from happe_power import verify as checks
from happe_power.cli.host import ENROL, Ending, Host, pass_host, spool_option
from happe_power.recording import closing, live
from happe_power.upload.outbox import folders, opened

if TYPE_CHECKING:
    from pathlib import Path

    from happe_power.upload.outbox import Outbox
    from happe_power.verify import Report

SECOND_S = 1.0
MORE = """Reads only this disk. "to send" counts the parts that the server has not acknowledged yet. The
uploader skips a trace that is "local": `record --no-upload` made it. With --watch the command then shows the
figures of the current recording, until Ctrl-C.

Examples:
  happe-power status
  happe-power status --watch
  happe-power status --json | jq '.traces[] | select(.state == "stopped")'"""


@click.command(cls=Command, epilog=MORE)
@spool_option
@click.option("--watch", is_flag=True, help="Then show the current recording each second")
@json_option
@pass_host
def status(host: Host, spool_folder: Path | None, watch: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """Show the traces in the spool, and what is left to upload."""
    place, itself = spool_folder or host.config.spool, host.identity
    facts: dict[str, Any] = {
        "server": itself.server if itself else None,
        "device": itself.device if itself else None,
        "study": itself.study if itself else None,
        "spool": str(place),
        "free_bytes": shutil.disk_usage(place).free if place.is_dir() else None,
        "traces": [_shown(folder) for folder in folders(place)],
    }
    if as_json:
        print_json(facts)
        return
    click.echo(f"Device {itself.device} of {itself.study} at {itself.server}" if itself else f"Not enrolled: {ENROL}")
    click.echo(f"Spool {place}{_free(facts['free_bytes'])}")
    _print(facts["traces"])
    if watch:
        _watch(place)


def _watch(place: Path) -> None:
    """Show the figures of the current recording each second, on one line of a terminal, until a signal."""
    ending = Ending()
    while not ending.wait(SECOND_S):
        found = live.current(place)
        line = f"{found[0].name[:8]}: {found[1].line()}" if found else "no recording is in progress"
        click.echo(f"\r{line}\x1b[K" if is_terminal() else line, nl=not is_terminal(), err=is_terminal())
    if is_terminal():
        click.echo(err=True)


def _shown(folder: Path) -> dict[str, Any]:
    found = opened(folder)
    if found is None:
        reason = "its header can't be read; `happe-power verify` says more"
        return {"trace": folder.name, "study": folder.parent.name, "state": "unreadable", "reason": reason}
    return {
        "trace": found.id,
        "study": folder.parent.name,
        "began_us": found.began_us,
        "state": _state(found),
        "parts": len(found.numbers),
        "to_send": 0 if found.sealed or found.local else len(found.waiting()),
        "reason": found.stopped,
    }


def _state(found: Outbox) -> str:
    if found.sealed:
        return "sealed"
    if found.local:
        return "local"
    if found.stopped:
        return "stopped"
    if found.ended:
        return "ended"
    return "recording" if found.live else "interrupted"


def _print(traces: list[dict[str, Any]]) -> None:
    if not traces:
        click.echo("No trace yet: happe-power record")
        return
    rows: list[tuple[object, ...]] = [("trace", "study", "began", "state", "parts", "to send")]
    for each in traces:
        began = f"{datetime.fromtimestamp(each['began_us'] / 1e6, UTC):%Y-%m-%d %H:%M}" if "began_us" in each else ""
        rows.append((each["trace"], each["study"], began, each["state"], each.get("parts"), each.get("to_send")))
    print_table(rows)
    for each in traces:
        if each["reason"]:
            click.echo(f"{each['trace']}: {each['reason']}")


def _free(size: int | None) -> str:
    return "" if size is None else f", {size / (1 << 30):.1f} GiB free"


VERIFY_MORE = """Reads every file again. Checks sizes, SHA-256, footers, rows and the order of times, and that
each index is in one part or in one gap. In a trace in progress it checks only the closed parts. The exit
status is 1 if something is wrong. --repair ends a trace that a recorder left open. It never changes a part.

Examples:
  happe-power verify 2b1e5a52
  happe-power verify --json /var/lib/happe-power/spool/*/*"""


@click.command(cls=Command, epilog=VERIFY_MORE)
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
            _print_report(report, done.get(report.folder, []))
    if not all(report.good for report in reports):
        context.exit(EX_CHECK_FAILED)


def _repaired(folder: Path) -> list[str]:
    """End the trace if it is still open. Return a line for each repair."""
    if (folder / "manifest.json").exists():
        return []
    ended = "manifest.json: the trace was left open; it is ended now"
    return [found.problem or ended for found in closing.recover_trace(folder)]


def _as_json(report: Report, done: list[str]) -> dict[str, Any]:
    return asdict(report) | {"folder": str(report.folder), "good": report.good, "repaired": done}


def _print_report(report: Report, done: list[str]) -> None:
    for line in done:
        click.echo(f"{report.folder}: {line}")
    for problem in report.problems:
        click.echo(f"{report.folder / problem.file}: {problem.detail}")
    word = "good" if report.good else f"{len(report.problems)} wrong"
    counts = f"{report.parts} parts, {report.samples} samples, {report.lost} lost"
    click.echo(f"{report.folder}: {word} ({report.state}; {counts})")
