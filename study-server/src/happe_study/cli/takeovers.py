# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server takeover`: after a restore, the restored server becomes the owner of the bucket."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from happe_cli.commands import Command
from happe_cli.errors import Failure
from happe_study.cli.server import Server, pass_server
from happe_study.model.audit.chain import append
from happe_study.study.traces.stores import storage_of

if TYPE_CHECKING:
    from happe_study.study.traces.bucket import Bucket

MORE = """Only the owner of a bucket changes it: puts uploads there, erases, and sweeps. A new bucket belongs to the
first server that uses it, and to all servers of that server's database. A restored server does not own the
bucket. If it is a rehearsal, leave it so. If it replaces the former server, stop that one, and run this
command. You confirm by typing the bucket's name. The audit log records it. From then on the former server
only reads the bucket.

Examples:
  happe-server restore /var/backups/happe/2026-11-02.tar
  happe-server takeover"""


@click.command("takeover", cls=Command, epilog=MORE)
@pass_server
def takeover(server: Server) -> None:
    """Let this server change its bucket, in place of the server that did."""
    settings = server.config.s3
    if settings is None:
        raise Failure(os.EX_CONFIG, "the configuration names no bucket: it has no section [s3]")
    server.require_fit()
    bucket: Bucket = storage_of(server.config, server.database)  # type: ignore[assignment] # as [s3] is there
    former, own = bucket.owner(), bucket.identity  # which the transaction below can't make
    if former and former.database == own:
        click.echo(f"{settings.address} belongs to this server already.")
        return
    click.echo(f"{settings.address} belongs to {former or 'nobody'}.")
    if click.prompt("Type the name of the bucket to take it over", err=True) != settings.bucket:
        raise Failure(os.EX_DATAERR, "that is not the name of the bucket; nothing was changed")
    with server.writing() as session:
        append(session, "bucket.taken", None, bucket=settings.address, former=former and former.host)
        bucket.take(former)
    click.echo(f"{settings.address} belongs to this server now. The former one can only read it.")
