# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that makes an export: a file for each table, with the same content as a download at that time.

When a participant withdraws, the server deletes the job's row, and so its files, which contain their data.
"""

from functools import partial
from pathlib import Path

from sqlalchemy import insert
from sqlalchemy.orm import Session

from happe_study.base.tables import Format
from happe_study.model.jobs.work import Kind, Work
from happe_study.model.results import ExportPiece
from happe_study.model.rights import Right
from happe_study.model.studies import Study
from happe_study.results.exports import services
from happe_study.results.exports.tables import Source

EXPORT = "export"
PIECE = 1 << 20


def make(work: Work) -> None:
    """Make a file of each table in the argument `tables`, with the listed columns, in the format `format`."""
    form, wanted = Format(work.arguments["format"]), work.arguments["tables"]
    files = {}
    for step, table in enumerate(wanted, 1):
        work.doing(f"exporting {table['table']}", step, len(wanted))
        files[table["table"]] = _written(work, table, form)
    sizes = {name: file.stat().st_size for name, file in files.items()}
    with work.taking_effect({"bytes": sizes}) as session:
        for name, file in files.items():
            _keep(session, work.id, name, file)


KIND = Kind(EXPORT, "Export as {format}", Right.EXPORT, make, "export_pages.exports")


def _written(work: Work, table: dict[str, list[str]], form: Format) -> Path:
    """Write the file of a table into the job's folder. `table` has the table's name and its columns' names."""
    with work.database.reading() as session:
        study = session.get_one(Study, work.study_id)
        found = services.tables(study)[str(table["table"])]
    columns = tuple(column for column in found.columns if column.name in table["columns"])
    made = services.Export(Source(work.study_id, work.server.secrets.allocation), study.name, found, columns)
    path = work.folder / made.file_name(form)
    with path.open("wb") as file:
        file.writelines(services.stream(work.database, made, form))
    return path


def _keep(session: Session, job_id: int, name: str, path: Path) -> None:
    with path.open("rb") as file:
        for at, content in enumerate(iter(partial(file.read, PIECE), b"")):
            session.execute(insert(ExportPiece).values(job_id=job_id, name=name, at=at, content=content))
