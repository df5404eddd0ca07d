# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power upload`."""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_power.cli.host import Host, pass_host, spool_option
from happe_power.upload.spool import only_uploader
from happe_power.upload.uploader import Report, Uploader, watch
from happe_power.upload.uploader import upload as send

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

TRIES = 6  # in a row, half a minute in all
MORE = """Sends the oldest trace first: its header, its parts as they are closed, the manifest. The server's seal is
kept in its folder; then the parts are deleted, unless the configuration says `keep = "always"`. What was
interrupted at any instant goes on where it was. The exit status is 1 if a person must look at a trace, 75 if
the server could not be reached, 77 if it does not know this host any more; nothing is lost by it.

--watch goes on until SIGTERM, SIGINT or Ctrl-C, waits for a server that is away, compares clocks once a
minute while a trace is recorded, and tells the server how this host is.

Examples:
  happe-power upload
  happe-power upload --watch
  happe-power upload --json | jq 'select(.event == "stopped")'"""


@click.command(cls=Command, epilog=MORE)
@click.option("--watch", "watching", is_flag=True, help="Send what comes, until told to end")
@spool_option
@click.option("--json", "as_json", is_flag=True, help="Print what happens as JSON, an object a line")
@click.option("--beside", type=int, hidden=True, help="End when this process has")
@pass_host
@click.pass_context
def upload(  # noqa: PLR0913 - click's
    context: click.Context,
    host: Host,
    /,
    *,
    watching: bool,
    spool_folder: Path | None,
    as_json: bool,
    beside: int | None,
) -> None:
    """Bring the spool's traces to the study server."""
    server, place = host.server(), spool_folder or host.config.spool
    report = _as_json if as_json else _as_text
    ended = _ended_by_signal()
    with only_uploader(place):
        uploader = Uploader(place, server, report, host.config.keep)
        if watching:
            watch(uploader, ended.wait, report, lambda: beside is not None and os.getppid() != beside)
        else:
            _once(uploader, ended, report)
    if uploader.stopped():
        context.exit(EX_CHECK_FAILED)


def _once(uploader: Uploader, ended: threading.Event, report: Report) -> None:
    if send(uploader, ended.wait, report, tries=TRIES):
        raise Failure(os.EX_TEMPFAIL, "not everything could be sent; it is kept, and the same command goes on with it")
    for outbox in uploader.open():
        report("unfinished", trace=outbox.id, live=outbox.live)


def _ended_by_signal() -> threading.Event:
    """An event that SIGTERM and SIGINT set. The request under way is ended first; one that lasts ends at the second."""
    ended = threading.Event()

    def end(number: int, _frame: FrameType | None) -> None:
        if ended.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    return ended


TEXTS = {
    "begun": "{trace}: begun",
    "part": "{trace}: part {part}, {bytes} bytes",
    "clock": "{trace}: the server's clock is {offset_us} us ahead of ours, within {uncertainty_us} us",
    "sealed": "{trace}: sealed; {deleted} parts deleted here",
    "damaged": "{trace}: part {part} is damaged, and not sent: {reason}",
    "stopped": "{trace}: stopped: {reason}",
    "unnoted": "{trace}: it goes on, though this can't be noted here: {reason}",
    "later": "again in {seconds} s: {reason}",
    "unfinished": "{trace}: all that there is has been sent; it has not ended yet",
}


def _as_text(event: str, **facts: Any) -> None:  # noqa: ANN401 - JSON of any kind
    _say(TEXTS[event].format(**facts))


def _as_json(event: str, **facts: Any) -> None:  # noqa: ANN401 - the same
    _say(json.dumps({"event": event, **facts}))


def _say(line: str) -> None:
    """Print a line, unless it goes to a disk that is full: the upload goes on, as it is what makes room."""
    try:
        click.echo(line)
        sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
