# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power upload` and `happe-power enrol`."""

from __future__ import annotations

import errno
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from happe_cli.commands import Command, json_option, print_json
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_power.cli.host import Ending, Host, pass_host, spool_option
from happe_power.upload import identity
from happe_power.upload.identity import Identity
from happe_power.upload.outbox import only_uploader
from happe_power.upload.server import DONE, Server
from happe_power.upload.uploader import Report, Uploader, watch
from happe_power.upload.uploader import upload as send

if TYPE_CHECKING:
    from pathlib import Path

TRIES = 6  # in a row, half a minute in all
MORE = """Sends the oldest trace first: its header, its parts as they close, its manifest. Keeps the server's
seal in the trace's folder. After the seal, parts stay until `happe-power measures` has measured the runs in
them, or until the disk has less than 2 GiB free (a disk below 20 GiB: a tenth); `keep` in the configuration
changes that. An interrupted upload continues where it was. The exit status is 1 if a person must look at a
trace, 75 if the server does not answer, 77 if the server no longer accepts this host; in each case all data
stay here. With --watch the command runs until SIGTERM, SIGINT or Ctrl-C. It waits while the server is away,
compares clocks once a minute during a recording, and reports this host's state to the server.

Examples:
  happe-power upload
  happe-power upload --watch
  happe-power upload --json | jq 'select(.event == "stopped")'"""


@click.command(cls=Command, epilog=MORE)
@click.option("--watch", "watching", is_flag=True, help="Continue with new traces until a signal ends it")
@spool_option
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON, one object a line")
@click.option("--beside", type=int, hidden=True, help="End when this process ends")
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
    """Upload the spool's traces to the study server."""
    server, place = host.server(), spool_folder or host.config.spool
    report = _as_json if as_json else _as_text
    ended = Ending()
    with only_uploader(place):
        uploader = Uploader(place, server, report, host.config.keep)
        if watching:
            watch(uploader, ended.wait, report, lambda: beside is not None and os.getppid() != beside)
        else:
            _once(uploader, ended, report)
    if uploader.stopped():
        context.exit(EX_CHECK_FAILED)


def _once(uploader: Uploader, ended: Ending, report: Report) -> None:
    if send(uploader, ended.wait, report, tries=TRIES):
        raise Failure(
            os.EX_TEMPFAIL, "not everything could be sent; the rest stays here, and the same command continues with it"
        )
    for outbox in uploader.open():
        report("unfinished", trace=outbox.id, live=outbox.live)


TEXTS = {
    "begun": "{trace}: begun",
    "part": "{trace}: part {part}, {bytes} bytes",
    "clock": "{trace}: the server's clock is {offset_us} us ahead of ours, within {uncertainty_us} us",
    "sealed": "{trace}: sealed",
    "deleted": "{trace}: {parts} parts deleted here; the server has them",
    "damaged": "{trace}: part {part} is damaged, and not sent: {reason}",
    "stopped": "{trace}: stopped: {reason}",
    "unnoted": "{trace}: the upload continues, but this host can't store its progress: {reason}",
    "later": "again in {seconds} s: {reason}",
    "unfinished": "{trace}: everything so far is sent; the recording has not ended yet",
}


def _as_text(event: str, **facts: Any) -> None:  # noqa: ANN401 - JSON of any kind
    _say(TEXTS[event].format(**facts))


def _as_json(event: str, **facts: Any) -> None:  # noqa: ANN401 - the same
    _say(json.dumps({"event": event, **facts}))


def _say(line: str) -> None:
    """Print a line. A full disk raises nothing, because the upload must go on to make room."""
    try:
        click.echo(line)
        sys.stdout.flush()
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


ENROL_MORE = """An administrator makes the code: `happe-server device enrol STUDY NAME --kind meter`. It works once,
within a day. The server answers with a token, which the command stores in device.json of the state folder. Only
the owner can read that file.

Examples:
  happe-power enrol --server https://study.example.org --code 7ZK3M9QA-0F8FAD5B
  happe-power enrol --code 7ZK3M9QA-0F8FAD5B --again    # the server is in the configuration"""


@click.command(cls=Command, epilog=ENROL_MORE)
@click.option("--server", "url", metavar="URL", help="The study server  [`server` of the configuration]")
@click.option("--code", required=True, metavar="CODE", help="The code that staff gave you")
@click.option("--again", is_flag=True, help="Replace the existing enrolment")
@json_option
@pass_host
def enrol(host: Host, url: str | None, code: str, again: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """Make this host a measuring device of a study."""
    config = host.config
    url = url or config.server
    if url is None:
        raise Failure(os.EX_USAGE, "no server; give --server URL, or set `server` in the configuration")
    before = None if again else identity.load(config.state)
    if before is not None:
        known = f"this host is device {before.device} of {before.study} at {before.server}"
        raise Failure(os.EX_CANTCREAT, f"{known}; --again replaces that enrolment")
    identity.prepare(config.state)
    server = Server(url, None, ca_file=config.ca_file, plain_http=config.plain_http)
    made = _enrolled(server, code)
    identity.store(config.state, made)
    if as_json:
        print_json({"server": made.server, "device": made.device, "study": made.study})
    else:
        click.echo(f"This host is device {made.device} of {made.study} at {made.server}.")


def _enrolled(server: Server, code: str) -> Identity:
    """Enrol with a code, and return the identity that the server gives. Raises Failure, NoAnswerError."""
    answer = server.send_json("POST", "devices/enrol", json.dumps({"code": code}).encode())
    if answer.status not in DONE:
        raise Failure(os.EX_NOPERM, f"{server.url}: {answer.detail}")
    said = answer.document
    if said.get("kind") != "meter":
        advice = "`happe-server device enrol STUDY NAME --kind meter` makes one"
        raise Failure(os.EX_DATAERR, f"the code is not for a meter; {advice}")
    try:
        return Identity(server.url, *(_text(said[name]) for name in ("device", "study", "token")))
    except (KeyError, TypeError):
        raise Failure(os.EX_UNAVAILABLE, f"{server.url}: this address answers, but it is not a study server") from None


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.isascii() or not value.isprintable() or not value:
        raise TypeError
    return value
