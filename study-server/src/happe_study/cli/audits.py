# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server audit` and `check`: whether the audit log and the server are whole."""

from dataclasses import asdict

import click

from happe_cli.commands import Command, Group, examples, json_option, print_answer, print_json
from happe_cli.errors import EX_CHECK_FAILED, Failure
from happe_study.cli.server import Server, pass_server
from happe_study.model.audit.models import AuditHead
from happe_study.model.audit.verify import Head, noted_head, verify_log
from happe_study.operations import worker
from happe_study.operations.checking import Verdict
from happe_study.operations.checking import check as look
from happe_study.study.traces import upkeep
from happe_study.study.traces.stores import storage_of

MORE = """A person who can write to the database could rewrite the whole log. So note its head elsewhere from time to
time, and verify against it later:

Examples:
  happe-server audit head | mail -s 'HAPPE audit' auditor@example.org
  happe-server audit verify --expect 1284:5f0c..."""


def _noted(text: str) -> Head:
    """The option's NUMBER:SHA256 as a head."""
    try:
        return noted_head(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.group(cls=Group, epilog=MORE)
def audit() -> None:
    """The audit log: verify it, print its head."""


@audit.command(epilog=examples("happe-server audit head", "happe-server audit head --json"))
@json_option
@pass_server
def head(server: Server, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Print the head of the log, which you note elsewhere."""
    with server.reading() as session:
        row = session.get_one(AuditHead, 1)
        found = Head(row.number, row.chain_sha256)
    print_answer({"number": found.number, "chain_sha256": found.chain_sha256}, str(found), as_json=as_json)


@audit.command(epilog=examples("happe-server audit verify", 'happe-server audit verify --expect "$(cat head.txt)"'))
@click.option(
    "--expect", type=_noted, metavar="NUMBER:SHA256", help="A head that you noted earlier: it must be in the log"
)
@json_option
@pass_server
def verify(server: Server, expect: Head | None, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Verify the whole log.

    The exit status is 1 if an entry was changed, is missing, or was put elsewhere.
    """
    with server.reading() as session:
        report = verify_log(session, expect)
    if as_json:
        print_json(report.document())
    elif report.is_whole:
        erased = f", {report.erased} of them erased as announced" if report.erased else ""
        click.echo(f"The audit log is complete: {report.entries} entries{erased}. Head {report.head}")
    if not report.is_whole:
        raise Failure(EX_CHECK_FAILED, *(f"audit entry {number}: {fault}" for number, fault in report.faults))


CHECK = """The server may run. Prints ok, warn or fail for each check, and what to do. The exit status is 1 if a check
fails. --deep also reads every part of every trace and compares it with its SHA-256. --sweep first removes
what interrupted work left on the disk: unfinished uploads, and the unsealed data of unfinished jobs. It
deletes parts of traces that the database does not know 30 days after the first --sweep that found them.

Examples:
  happe-server check
  happe-server check --deep --sweep    # weekly
  happe-server check --json | jq '.[] | select(.verdict != "ok")'"""


@click.command(cls=Command, epilog=CHECK)
@click.option("--deep", is_flag=True, help="Read every byte of the traces")
@click.option("--sweep", is_flag=True, help="Remove the files that interrupted uploads and jobs left")
@json_option
@pass_server
@click.pass_context
def check(context: click.Context, server: Server, deep: bool, sweep: bool, as_json: bool) -> None:  # noqa: FBT001 - click's flags
    """Check the configuration, secrets, database, audit log, traces and free room."""
    if sweep:
        server.require_revision()
        upkeep.sweep(server.database, storage_of(server.config, server.database))
        worker.sweep(server.database, server.config.data)
    findings = list(look(server.path, server.config, server.database, deep=deep))
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        for each in findings:
            click.echo(f"{each.verdict:<4}  {each.what}: {each.detail}")
            if each.advice:
                click.echo(f"      {each.advice}")
    if any(finding.verdict is Verdict.FAIL for finding in findings):
        context.exit(EX_CHECK_FAILED)
