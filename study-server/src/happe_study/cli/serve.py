# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server run`, `migrate` and `openapi`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from happe_cli.commands import Command, examples, json_option, print_json
from happe_cli.errors import Failure
from happe_study import migrations
from happe_study.cli.server import Server, pass_server
from happe_study.evidence.traces import upkeep
from happe_study.evidence.traces.storage import Storage
from happe_study.operations import serving
from happe_study.results.reports import forgetting

RUN = """Stops on SIGTERM, SIGINT or Ctrl-C, when the requests under way are answered (at most stop_seconds of the
configuration). Tells systemd when it is ready. Logs to standard error: JSON, a line each, or text at a
terminal.

Examples:
  happe-server run
  happe-server --config ./server.toml run --pid-file server.pid
  curl http://127.0.0.1:8080/healthz"""

MIGRATE = """Every step is a transaction: what fails leaves the database as it was. Stop the server before, and back up.

Examples:
  systemctl stop happe-server
  happe-server backup /var/backups/happe/before-upgrade
  happe-server migrate && systemctl start happe-server"""


@click.command(cls=Command, epilog=RUN)
@click.option("--pid-file", type=click.Path(dir_okay=False, path_type=Path), help="Write the process's number there")
@pass_server
def run(server: Server, pid_file: Path | None) -> None:
    """Serve until it is told to stop."""
    server.require_revision()
    _ = server.secrets
    upkeep.sweep(server.database, Storage(server.config.traces_folder))
    forgetting.sweep(server.config.data)
    server.database.dispose()
    master = os.getpid()
    try:
        serving.run(server.config, pid_file)
    except SystemExit as end:
        if os.getpid() != master:
            os._exit(end.code if isinstance(end.code, int) else 0)  # a worker has nothing to tidy up
        if end.code in (None, 0):
            raise
        raise Failure(os.EX_SOFTWARE, "the server could not go on; its log above says why") from end


@click.command(cls=Command, epilog=MIGRATE)
@json_option
@pass_server
def migrate(server: Server, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Bring the database to this program's revision."""
    before = migrations.current(server.database)
    if before is not None and not migrations.is_known(before):
        server.require_revision()
    migrations.upgrade(server.database, allocation=server.secrets.allocation)
    after = migrations.current(server.database)
    if as_json:
        print_json({"before": before, "after": after})
    elif before == after:
        click.echo(f"The database is at revision {after} already.")
    else:
        click.echo(f"The database went from revision {before or 'none'} to {after}.")


@click.command(cls=Command, epilog=examples("happe-server openapi >openapi.json"))
@pass_server
def openapi(server: Server) -> None:
    """Print the OpenAPI document of the HTTP interface."""
    with server.app.app_context():
        print_json(server.app.spec)
