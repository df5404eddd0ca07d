# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server study traces`: an unblinded study's power traces as folders."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from happe_cli.commands import Command, json_option, print_json, print_table
from happe_cli.errors import Failure
from happe_study.cli import named
from happe_study.cli.errors import PROGRAM
from happe_study.cli.server import Server, pass_server
from happe_study.model.audit.chain import append
from happe_study.model.studies import StudyState
from happe_study.study.traces.downloads import Downloaded, download
from happe_study.study.traces.sealed import TraceFiles
from happe_study.study.traces.stores import storage_of

MORE = """Writes FOLDER/UUID for each trace, in the format of `happe-power`'s spool: header, parts, gaps, clock
estimates and manifest. Only the meter's own spool has zero checks. The command compares each part with
what the meter sent. It skips sealed traces that exist already, so it continues an interrupted download.
If a trace was not sealed at the last download, it fetches that trace again. Traces stay sealed until
the study is unblinded, because power reveals conditions. The audit log has each download. The exit
status is 1 if a trace is incomplete.

Examples:
  happe-server study traces crossover --out traces
  happe-power measures export/crossover-runs.csv --trace traces --out measures.json"""


@click.command(cls=Command, epilog=MORE)
@click.argument("name", metavar="STUDY")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="The folder for the traces"
)
@json_option
@pass_server
def traces(server: Server, name: str, out: Path, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """Write a study's power traces into folders, for `happe-power measures`."""
    out.mkdir(exist_ok=True)
    with server.writing() as session:
        study = named.study(session, name)
        if study.state != StudyState.UNBLINDED:
            raise Failure(os.EX_NOPERM, f"{name}: its power traces stay sealed until it is unblinded")
        append(session, "study.exported", None, study_id=study.id, study=name, table="power-traces", format="parquet")
    files = TraceFiles(storage_of(server.config, server.database), server.secrets.allocation)
    written: list[Downloaded] = []
    with server.reading() as session:
        for each in download(session, study.id, files, out):
            written.append(each)
            PROGRAM.show([f"{each.folder}: {fault}; the trace was not written" for fault in each.faults])
    if as_json:
        print_json([_document(each) for each in written])
    elif written:
        print_table([(str(each.folder), _said(each)) for each in written])
    else:
        click.echo(f"{name} has no power trace.")
    if any(each.faults for each in written):
        sys.exit(1)


def _document(each: Downloaded) -> dict[str, object]:
    fields = ("trace", "parts", "bytes", "there", "sealed", "faults")
    return {"folder": str(each.folder), **{name: getattr(each, name) for name in fields}}


def _said(each: Downloaded) -> str:
    if each.faults:
        return "not written"
    if each.there:
        return "was there"
    return (
        f"{each.parts} parts, {each.bytes} "
        f"bytes{'' if each.sealed else ', not sealed: some parts may still be missing'}"
    )
