# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-power enrol`."""

from __future__ import annotations

import json
import os

import click

from happe_cli.commands import Command, json_option, print_json
from happe_cli.errors import Failure
from happe_power.cli.host import Host, pass_host
from happe_power.upload import identity
from happe_power.upload.identity import Identity
from happe_power.upload.judgement import DONE
from happe_power.upload.server import Server

MORE = """An administrator makes the code: `happe-server device enrol STUDY NAME --kind meter`. It works once,
within a day. The server answers with a token, which the command stores in device.json of the state folder. Only
the owner can read that file.

Examples:
  happe-power enrol --server https://study.example.org --code 7ZK3M9QA-0F8FAD5B
  happe-power enrol --code 7ZK3M9QA-0F8FAD5B --again    # the server is in the configuration"""


@click.command(cls=Command, epilog=MORE)
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
