# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power status`."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, is_terminal, json_option, print_json, print_table
from happe_power.cli.host import ENROL, Host, pass_host, spool_option
from happe_power.cli.signals import Ending
from happe_power.recording import live
from happe_power.upload import spool

if TYPE_CHECKING:
    from pathlib import Path

    from happe_power.upload.outbox import Outbox

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
        "traces": [_shown(folder) for folder in spool.folders(place)],
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
    found = spool.outbox(folder)
    if found is None:
        reason = "its header can't be read; `happe-power verify` says more"
        return {"trace": folder.name, "study": folder.parent.name, "state": "unreadable", "reason": reason}
    return {
        "trace": found.id,
        "study": folder.parent.name,
        "began_us": found.began_us,
        "state": _state(found),
        "parts": len(found.numbers()),
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
