# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server study export` and `traces`: a study's tables as files, and its power traces as folders."""

import os
import sys
from pathlib import Path

import click
from sqlalchemy.orm import Session

from happe_cli.commands import Command, json_option, print_answer
from happe_cli.disk import sync_folder, whole
from happe_cli.errors import Failure
from happe_study.base.tables import Format
from happe_study.cli import named
from happe_study.cli.errors import PROGRAM
from happe_study.cli.server import Server, pass_server
from happe_study.model.audit.chain import append
from happe_study.model.studies import StudyState
from happe_study.results.exports import job, services
from happe_study.results.exports.services import Export
from happe_study.study.traces.downloads import Downloaded, download
from happe_study.study.traces.sealed import TraceFiles
from happe_study.study.traces.stores import storage_of

MORE = """Writes one file for each table that you may have now; the table `dictionary` explains each column. Until the
study is unblinded, no table has data that could reveal a condition, for any role. The command overwrites no
file, and the audit log has each export.

With --job, a worker makes the files instead, of every table. The page Exports of the study has them for 3
days, and `happe-server job list` shows how far it is.

Examples:
  happe-server study export paper-a3 --out export
  happe-server study export paper-a3 --out export --format parquet --table runs --table samples
  happe-server study export paper-a3 --job"""


@click.command(cls=Command, epilog=MORE)
@click.argument("name", metavar="STUDY")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="The folder for the files")
@click.option("--job", "as_job", is_flag=True, help="Have a worker make the files for the page Exports")
@click.option(
    "--format",
    "form",
    type=click.Choice([str(form) for form in Format]),
    default=str(Format.CSV),
    show_default=True,
    help="Their format; jsonl is a JSON object a line",
)
@click.option(
    "--table", "wanted", metavar="TABLE", multiple=True, help="A table; repeat the option for more tables  [all]"
)
@json_option
@pass_server
def export(  # noqa: PLR0913, PLR0917 - an option each
    server: Server,
    name: str,
    out: Path | None,
    as_job: bool,  # noqa: FBT001 - click's flag
    form: str,
    wanted: tuple[str, ...],
    as_json: bool,  # noqa: FBT001 - click's flag
) -> None:
    """Write a study's data into files: CSV, JSON lines or Parquet."""
    if (out is not None or bool(wanted)) if as_job else out is None:
        raise Failure(os.EX_USAGE, "give either --out, with any --table, or --job")
    if out is None:
        _ask(server, name, Format(form), as_json=as_json)
    else:
        _export(server, name, out, wanted, Format(form), as_json=as_json)


def _ask(server: Server, name: str, form: Format, *, as_json: bool) -> None:
    with server.writing() as session:
        number = job.begin(session, named.study(session, name).id, server.secrets, form, None).id
    said = f"Job {number} exports {name}. Its page Exports will have the files."
    print_answer({"study": name, "job": number}, said, as_json=as_json)


def _export(server: Server, name: str, out: Path, wanted: tuple[str, ...], form: Format, *, as_json: bool) -> None:  # noqa: PLR0913 - each is named
    out.mkdir(exist_ok=True)
    with server.writing() as session:
        exports = _prepared(server, session, name, wanted, form)
        for each in exports:
            _require_absent(out / each.file_name(form))
    written = [_write(server, each, out, form) for each in exports]
    sync_folder(out)
    print_answer(written, [(each["file"], f"{each['bytes']} bytes") for each in written], as_json=as_json)


def _prepared(server: Server, session: Session, name: str, wanted: tuple[str, ...], form: Format) -> list[Export]:
    """The tables to write, each noted in the audit log. Asking for a table that is still sealed is an error."""
    study = named.study(session, name)
    tables = services.tables(study)
    if unknown := [table for table in wanted if table not in tables]:
        raise Failure(os.EX_USAGE, f"{unknown[0]}: no such table; there are {', '.join(tables)}")
    closed = [table.name for table in tables.values() if not table.is_open(study.state)]
    if closed and not wanted:
        PROGRAM.show([f"left out until {name} is unblinded: {', '.join(closed)}"])
    names = wanted or [table for table in tables if table not in closed]
    wishes = [services.Wish(table, form, None) for table in dict.fromkeys(names)]
    return [services.prepare(session, study, server.secrets, wish) for wish in wishes]


def _require_absent(file: Path) -> None:
    if file.exists():
        raise Failure(os.EX_CANTCREAT, f"{file}: exists already; export to another folder")


def _write(server: Server, made: Export, out: Path, form: Format) -> dict[str, object]:
    file = out / made.file_name(form)
    with whole(file) as opened:
        for piece in services.stream(server.database, made, form):
            opened.write(piece)
    return {"table": made.table.name, "file": str(file), "bytes": file.stat().st_size}


TRACES = """Writes FOLDER/UUID for each trace, in the format of `happe-power`'s spool: header, parts, gaps, clock
estimates and manifest. Only the meter's own spool has zero checks. The command compares each part with
what the meter sent. It skips sealed traces that exist already, so it continues an interrupted download.
If a trace was not sealed at the last download, it fetches that trace again. Traces stay sealed until
the study is unblinded, because power reveals conditions. The audit log has each download. The exit
status is 1 if a trace is incomplete.

Examples:
  happe-server study traces crossover --out traces
  happe-power measures export/crossover-runs.csv --trace traces --out measures.json"""


@click.command(cls=Command, epilog=TRACES)
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
    shown = [(str(each.folder), _said(each)) for each in written] or f"{name} has no power trace."
    print_answer([_document(each) for each in written], shown, as_json=as_json)
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
