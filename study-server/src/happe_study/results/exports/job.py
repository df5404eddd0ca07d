# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports that jobs make: starting, making, listing and fetching them. The server removes their files after KEPT_DAYS.

The request decides the columns of each table. Somebody who may fetch the table later may see at least those columns,
because a study's state never goes back. Fetching a file writes to the audit log. When a participant withdraws, the
server deletes the job's row, and so its files, which contain their data.
"""

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.config import Secrets
from happe_study.base.database import FOR_CHANGE, Database
from happe_study.base.problems import conflict, not_found
from happe_study.base.tables import Format
from happe_study.model.audit.chain import SERVER, append
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import Job, JobState
from happe_study.model.jobs.work import Kind, Work
from happe_study.model.results import FilePiece
from happe_study.model.rights import Right
from happe_study.model.rules import Caller
from happe_study.model.studies import Study
from happe_study.results import files
from happe_study.results.exports import services
from happe_study.results.exports.tables import Source

KEPT_DAYS = 3
KEPT_US = KEPT_DAYS * 86_400_000_000
EXPORT = "export"
MAKING = "The server is making an export of this study. Wait until it is ready."


@dataclass(frozen=True)
class Shown:
    """An export on its page: the size of each table's file (None: no files), and when the server removes them."""

    job: Job
    files: dict[str, int] | None
    until_us: int | None


@dataclass(frozen=True)
class File:
    """A file that somebody fetches."""

    job_id: int
    table: str
    name: str
    form: Format
    bytes: int


def begin(session: Session, study_id: int, secrets: Secrets, form: Format, who: Caller | None) -> Job:
    """Start an export of every table that somebody may see now. Problem 409: one is being made; as `allowed` raises."""
    study = session.get_one(Study, study_id, with_for_update=FOR_CHANGE)
    if jobs.open_one(session, EXPORT, study_id):
        raise conflict("export", MAKING)
    names = [table.name for table in services.tables(study).values() if services.sees(study, table, who)]
    made = [services.allowed(session, study, secrets, services.Wish(name, form, who)) for name in names]
    tables = [{"table": each.table.name, "columns": [column.name for column in each.columns]} for each in made]
    job = jobs.ask(session, EXPORT, who.name if who else SERVER.get(), study_id, format=form, tables=tables)
    append(session, "export.begun", who, study_id=study_id, study=study.name, job=job.id, format=form)
    return job


def make(work: Work) -> None:
    """Make a file of each table in the argument `tables`, with the listed columns, in the format `format`."""
    form, wanted = Format(work.arguments["format"]), work.arguments["tables"]
    made = {}
    for step, table in enumerate(wanted, 1):
        work.doing(f"exporting {table['table']}", step, len(wanted))
        made[table["table"]] = _written(work, table, form)
    sizes = {name: path.stat().st_size for name, path in made.items()}
    with work.taking_effect({"bytes": sizes}) as session:
        for name, path in made.items():
            with path.open("rb") as file:
                files.keep(session, work.id, name, file)


KIND = Kind(EXPORT, "Export as {format}", Right.EXPORT, make, "export_pages.exports")


def _written(work: Work, table: dict[str, list[str]], form: Format) -> Path:
    """Write the file of a table into the job's folder. `table` has the table's name and its columns' names."""
    with work.database.reading() as session:
        study = session.get_one(Study, work.study_id)
        found = services.tables(study)[str(table["table"])]
    columns = tuple(column for column in found.columns if column.name in table["columns"])
    made = services.Export(Source(work.study_id, work.server.secrets.allocation), study.name, found, columns)
    return services.write(work.database, made, form, work.folder)


def shown(session: Session, study_id: int) -> list[Shown]:
    """A study's exports, newest first."""
    return [_shown(job) for job in jobs.of_study(session, study_id, EXPORT)]


def _shown(job: Job) -> Shown:
    if job.state != JobState.DONE or job.finished_us is None or job.result is None:
        return Shown(job, None, None)
    until = job.finished_us + KEPT_US
    sizes: dict[str, int] = job.result["bytes"]
    ordered = {table["table"]: sizes[table["table"]] for table in job.arguments["tables"]}
    return Shown(job, ordered if now_us() < until else None, until)


def fetch(session: Session, study: Study, secrets: Secrets, number: int, table: str, who: Caller) -> File:  # noqa: PLR0913, PLR0917 - each is named
    """Find a file of an export, and write to the audit log who fetches it.

    Raises Problem 404: no such file, or it was removed; and the Problems of `services.prepare`, such as 403.
    """
    job = session.get(Job, number)
    if job is None or (job.kind, job.study_id) != (EXPORT, study.id):
        raise not_found()
    files, form = _shown(job).files or {}, Format(job.arguments["format"])
    if table not in files:
        raise not_found()
    may = services.prepare(session, study, secrets, services.Wish(table, form, who))
    return File(number, table, may.file_name(form), form, files[table])


def remove_old(database: Database) -> None:
    """Remove the files that are older than KEPT_DAYS."""
    old = select(Job.id).where(Job.kind == EXPORT, Job.finished_us <= now_us() - KEPT_US)
    with database.writing() as session:
        session.execute(delete(FilePiece).where(FilePiece.job_id.in_(old)))
