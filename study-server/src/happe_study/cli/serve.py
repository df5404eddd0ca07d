# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server run`, `migrate` and `openapi`."""

import os
from pathlib import Path

import click

from happe_cli.commands import Command, examples, json_option, print_json
from happe_cli.errors import Failure
from happe_study.cli.server import Server, pass_server
from happe_study.model.audit.chain import append
from happe_study.operations import migrations, serving
from happe_study.study.traces import upkeep
from happe_study.study.traces.stores import storage_of

RUN = """Stops on SIGTERM, SIGINT or Ctrl-C after it has answered the requests in progress (at most stop_seconds of
the configuration). Reports to systemd when it is ready. Logs to standard error, one JSON object a line, or
text at a terminal.

Examples:
  happe-server run
  happe-server --config ./server.toml run --pid-file server.pid
  curl http://127.0.0.1:8080/healthz"""

MIGRATE = """Before you start, stop the server and back up. A failed migration leaves the database as it was. A
database of a revision that this program does not know is refused and left alone.

The database keeps a fingerprint of each secret, and no server or command works with other secrets. If
session.key or password.key is lost, make a new one (64 random hexadecimal digits, mode 0600) and use
--new-secrets. After a new password.key, set every password again. A lost allocation.key cannot be replaced
while a study is locked with it.

Examples:
  systemctl stop happe-server
  happe-server backup /var/backups/happe/before-upgrade.tar
  happe-server migrate && systemctl start happe-server"""


@click.command(cls=Command, epilog=RUN)
@click.option("--pid-file", type=click.Path(dir_okay=False, path_type=Path), help="Write the process id to this file")
@pass_server
def run(server: Server, pid_file: Path | None) -> None:
    """Serve until a signal ends the server."""
    server.require_fit()
    upkeep.sweep_own(server.database, storage_of(server.config, server.database))
    server.database.dispose()
    master = os.getpid()
    try:
        serving.run(server.config, server.secrets, pid_file)
    except SystemExit as end:
        if os.getpid() != master:
            os._exit(end.code if isinstance(end.code, int) else 0)  # a worker has nothing to clean up
        if end.code in (None, 0):
            raise
        raise Failure(os.EX_SOFTWARE, "the server had to stop; its log above gives the reason") from end


@click.command(cls=Command, epilog=MIGRATE)
@click.option("--new-secrets", is_flag=True, help="Accept the present secrets after you lost the earlier ones")
@json_option
@pass_server
def migrate(server: Server, new_secrets: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """Bring the database to this program's revision."""
    before = migrations.current(server.database)
    if new_secrets:
        server.require_revision()
        with server.writing_unfit() as session:
            migrations.tell_secrets(session, server.secrets)
            append(session, "secrets.replaced", None)
    migrations.upgrade(server.database, secrets=server.secrets)
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
