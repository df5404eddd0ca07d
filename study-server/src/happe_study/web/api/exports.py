# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports over HTTP. A POST makes an export, because it writes to the audit log. The answer is the file."""

from typing import Any

from apiflask import APIBlueprint
from flask import Response
from pydantic import BaseModel

from happe_study.base.fields import BINARY, Closed
from happe_study.base.parts import parts
from happe_study.base.tables import MEDIA_TYPES, Format, Kind
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.results.exports import services
from happe_study.study.studies.services import find

api = APIBlueprint("exports", __name__, url_prefix="/api/v1", tag="Exports")

RESPONSES: dict[int | str, dict[str, str | dict[str, dict[str, Any]]]] = {
    200: {"description": "The file.", "content": {kind.split(";")[0]: BINARY for kind in MEDIA_TYPES.values()}},
    409: {"description": "It stays sealed until the study is unblinded; or the server has another key."},
}


class ColumnOut(BaseModel):
    """A column, and whether the caller may see it now."""

    name: str
    type: Kind
    unit: str
    about: str
    available: bool


class TableOut(BaseModel):
    """A table, and whether the caller may see it now."""

    table: str
    about: str
    available: bool
    columns: list[ColumnOut]


class CatalogueOut(BaseModel):
    """Every table of a study."""

    tables: list[TableOut]


class ExportIn(Closed):
    """The file's format: csv, jsonl (each line is a JSON object) or parquet."""

    format: Format = Format.CSV


@api.get("/studies/<study>/exports")
@staff(Right.EXPORT)
@api.output(CatalogueOut)
def list_exports(study: str) -> dict[str, Any]:
    """List all tables and columns with their descriptions."""
    with parts().database.reading() as session:
        return {"tables": services.catalogue(find(session, study), caller())}


@api.post("/studies/<study>/exports/<table>")
@staff(Right.EXPORT)
@api.input(ExportIn, location="query")
@api.doc(responses=RESPONSES)
def export(study: str, table: str, query_data: ExportIn) -> Response:
    """Export the columns of a table that the caller may see now."""
    form, database = query_data.format, parts().database
    with database.writing() as session:
        found = find(session, study)
        made = services.prepare(session, found, parts().secrets, services.Wish(table, form, caller()))
    response = Response(services.stream(database, made, form), mimetype=form.media_type.split(";")[0])
    response.headers["Content-Type"] = form.media_type
    response.headers["Content-Disposition"] = f'attachment; filename="{made.file_name(form)}"'
    return response
