# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server backup`, `restore` and `takeover`."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from happe_cli.commands import Command, json_option, print_json
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_study.cli.errors import PROGRAM
from happe_study.cli.server import Server, pass_server
from happe_study.model.audit.chain import append
from happe_study.operations import backup as backups
from happe_study.operations import restoring
from happe_study.operations.postgresql import ProgramError
from happe_study.study.traces.stores import storage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from happe_study.study.traces.bucket import Bucket


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar at a terminal; elsewhere show nothing."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def tell(done: int, total: int) -> None:
            bar.length = max(total, 1)
            bar.update(done - bar.pos)

        yield tell


BACKUP = """The server may run. The backup has everything that the server acknowledged before it began. The backup gets
its name when all of it is on the disk. A killed backup leaves a name that begins with a dot; you can remove
it.

Power traces in an S3 bucket stay there: the backup names them with their sizes and digests. The first line
printed says so, and how to copy them.

With --job, a worker makes the backup, in a folder of its machine that the option `backups` of the
configuration names. `happe-server job list` shows how far it is.

A backup has no secrets unless you ask for them. Keep a backup with secrets apart and safe: it can unblind
every study. Backups from before a withdrawal still have that participant's data, so delete old backups.

Examples:
  happe-server backup /var/backups/happe/$(date +%F).tar
  happe-server backup monday.tar --json
  happe-server backup --job
  happe-server backup --with-secrets /media/safe/happe.tar"""

RESTORE = """--config names the configuration, which names the place. Its data folder must be missing or have only
secrets, and its PostgreSQL database must be empty. The command verifies every file before it puts any in
place, and afterwards the audit log and the power traces in the bucket that the backup names. The restored
server only reads the bucket, until `happe-server takeover`.

Examples:
  happe-server restore /var/backups/happe/2026-11-02.tar
  happe-server --config ./rehearsal.toml restore monday.tar
  happe-server --config ./rehearsal.toml check --deep"""

SECRETS = {
    "restored": "The command restored the secrets, too.",
    "there already": "The secrets in place belong to this server.",
    "missing": "The backup has no secrets. Copy the server's to {folder} before you run it.",
    "others are there": (
        "The secrets in {folder} belong to another server. Without this server's, no study can be unblinded."
    ),
}


@click.command(cls=Command, epilog=BACKUP)
@click.argument("place", metavar="FILE.tar", type=click.Path(path_type=Path), required=False)
@click.option("--with-secrets", is_flag=True, help="Include the secrets")
@click.option("--job", "as_job", is_flag=True, help="Let a worker make it in the folder `backups`")
@json_option
@pass_server
def backup(server: Server, place: Path | None, with_secrets: bool, as_job: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """Copy database and traces to a new tar, while the server runs."""
    if (place is not None or with_secrets) if as_job else place is None:
        raise Failure(os.EX_USAGE, "give FILE.tar or --job; a backup by --job never has the secrets")
    server.require_fit()
    if place is None:
        _ask(server, as_json=as_json)
    else:
        _back_up(server, place, with_secrets=with_secrets, as_json=as_json)


def _ask(server: Server, *, as_json: bool) -> None:
    if server.config.backups is None:
        raise Failure(os.EX_CONFIG, backups.NO_FOLDER)
    with server.writing() as session:
        asked = backups.ask(session)
        number, place = asked.id, server.config.backups / asked.arguments["name"]
    if as_json:
        print_json({"job": number, "backup": str(place)})
    else:
        if server.config.s3:
            click.echo(server.config.s3.not_in_backups)
        click.echo(f"Job {number} makes the backup {place}.")


def _back_up(server: Server, place: Path, *, with_secrets: bool, as_json: bool) -> None:
    source = backups.Source(server.config, server.secrets, server.database)
    try:
        with progress_bar("Backing up") as progress:
            made = backups.make(source, place.absolute(), with_secrets=with_secrets, progress=progress)
    except ProgramError as error:
        raise Failure(os.EX_UNAVAILABLE, str(error)) from error
    if with_secrets:
        PROGRAM.show([f"{place}: holds the secrets, which can unblind everybody; keep it safe (its mode is 0600)"])
    if as_json:
        print_json(_document(place, made))
    else:
        if made.note:
            click.echo(made.note)
        named = f", and names {len(made.objects)} objects of the bucket" if made.objects else ""
        click.echo(f"{place}: {len(made.files)} files, {made.size} bytes{named}. Audit head {_head(made)}")
    if made.missing:
        wrong = f"{len(made.missing)} parts of traces are missing or damaged on the server itself"
        raise Failure(EX_CHECK_FAILED, f"{wrong}; the rest is backed up", *made.missing[:20])


@click.command(cls=Command, epilog=RESTORE)
@click.argument("place", metavar="FILE.tar", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@pass_server
def restore(server: Server, place: Path, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Put a backup into an empty place, and verify it."""
    config = server.empty_config
    try:
        with progress_bar("Restoring") as progress:
            done = restoring.restore(config, place.absolute(), progress)
    except backups.NoBackupError as error:
        raise Failure(os.EX_DATAERR, f"{place}: {error}") from error
    except ProgramError as error:
        raise Failure(os.EX_UNAVAILABLE, str(error)) from error
    if as_json:
        facts = {"secrets": done.secrets, "audit_whole": done.is_whole}
        print_json(_document(place, done.manifest) | facts)
    else:
        click.echo(f"{config.data}: restored {len(done.manifest.files)} files. Audit head {_head(done.manifest)}")
        click.echo(SECRETS[done.secrets].format(folder=config.secrets_folder))
        if config.s3:
            click.echo(f"It only reads {config.s3.address}. If it replaces the former server: happe-server takeover")
    if done.lost:
        wrong = f"{len(done.lost)} parts of power traces are not in the bucket as the backup names them"
        raise Failure(EX_CHECK_FAILED, f"{wrong}; the rest is restored", *done.lost[:20])
    if not done.is_whole:
        raise Failure(EX_CHECK_FAILED, *(f"audit entry {number}: {fault}" for number, fault in done.report.faults))


def _head(made: backups.Manifest) -> str:
    return f"{made.audit.number}:{made.audit.chain_sha256}"


def _document(place: Path, made: backups.Manifest) -> dict[str, object]:
    return {
        "note": made.note,
        "backup": str(place),
        "files": len(made.files),
        "bytes": made.size,
        "audit_head": _head(made),
        "revision": made.revision,
        "has_secrets": made.has_secrets,
        "missing": made.missing,
        "objects": len(made.objects),
    }


TAKEOVER = """Only the owner of a bucket changes it: puts uploads there, erases, and sweeps. A new bucket belongs to the
first server that uses it, and to all servers of that server's database. A restored server does not own the
bucket. If it is a rehearsal, leave it so. If it replaces the former server, stop that one, and run this
command. You confirm by typing the bucket's name. The audit log records it. From then on the former server
only reads the bucket.

Examples:
  happe-server restore /var/backups/happe/2026-11-02.tar
  happe-server takeover"""


@click.command("takeover", cls=Command, epilog=TAKEOVER)
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
