# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages for exports that jobs make: ask for one, and download its files while the server keeps them."""

from typing import Any

from flask import Blueprint, Response, g, request
from flask import Response as Answer
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.parts import parts
from happe_study.base.problems import Problem
from happe_study.base.tables import Format
from happe_study.model.jobs.models import OPEN
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.results import files
from happe_study.results.exports import job, services
from happe_study.study.studies.services import find
from happe_study.web.staff_page import done, mistake, or_again, page

pages = Blueprint("export_pages", __name__)

FORMATS = ((Format.CSV, "CSV"), (Format.JSON_LINES, "JSON lines"), (Format.PARQUET, "Parquet"))


@pages.get("/studies/<study>/exports")
@staff(Right.EXPORT)
def exports(study: str, problem: Problem | None = None) -> Response:
    """The study's exports, and the form that asks for another."""
    with parts().database.reading() as session:
        found = find(session, study)
        made = job.shown(session, found.id)
    mine = [name for name, table in services.tables(found).items() if services.sees(found, table, caller())]
    facts: dict[str, Any] = {"exports": made, "mine": mine, "formats": FORMATS, "days": job.KEPT_DAYS}
    facts["making"] = next((each.job for each in made if each.job.state in OPEN), None)
    return page("results/exports", "Exports", study=found, problem=problem, **facts)


@pages.post("/studies/<study>/exports")
@staff(Right.EXPORT)
@or_again(exports)
def make(study: str) -> AnyResponse:
    """Start an export of every table that the caller may see now."""
    try:
        form = Format(request.form.get("format", ""))
    except ValueError:
        raise mistake("format", "Choose a format.") from None
    with parts().database.writing() as session:
        job.begin(session, g.happe_study_ids(study), parts().secrets, form, caller())
    return done("The server is making the export.", "export_pages.exports", study=study)


@pages.post("/studies/<study>/exports/<int:number>/<table>")
@staff(Right.EXPORT)
def fetch(study: str, number: int, table: str) -> Response:
    """Download a file of an export. This is a POST, because it writes to the audit log."""
    database = parts().database
    with database.writing() as session:
        found = find(session, study)
        file = job.fetch(session, found, parts().secrets, number, table, caller())
    answer = Answer(files.pieces(database, file.job_id, file.table), content_type=file.form.media_type)
    answer.headers["Content-Length"] = str(file.bytes)
    answer.headers["Content-Disposition"] = f'attachment; filename="{file.name}"'
    return answer
