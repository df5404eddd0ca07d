# SPDX-License-Identifier: GPL-2.0-or-later
"""The analyst's pages, after unblinding: a report's documents, reports that are being made, and finished reports."""

import json
from typing import Any

from flask import Blueprint, Response, g, request, url_for
from flask import Response as Answer
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response as AnyResponse

from happe_study.base.database import FOR_CHANGE
from happe_study.base.parts import parts
from happe_study.base.problems import FieldError, Problem, conflict, not_found, unprocessable
from happe_study.base.uploads import takes
from happe_study.model.accounts import Account
from happe_study.model.documents import DocumentKind
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import OPEN
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.studies import Study, StudyState
from happe_study.results import reports as services
from happe_study.results.reports import BLINDED, MEDIA_TYPES, PAGE
from happe_study.study import documents
from happe_study.study.documents import InputError
from happe_study.study.measuring import job as measuring
from happe_study.study.measuring.job import MEASURING
from happe_study.study.studies.services import find, protocol_of
from happe_study.web.staff_page import done, mistake, or_again, page

pages = Blueprint("report_pages", __name__)

MIB = 1 << 20
MOST_BYTES = {DocumentKind.MEASURES: documents.MOST_MEASURES, DocumentKind.MODEL: MIB}
FIELDS = {DocumentKind.MEASURES: "measures", DocumentKind.MODEL: "machine"}
WORDS = {DocumentKind.MEASURES: "measured power", DocumentKind.MODEL: "a machine's power model"}
DOWNLOADS = ("report.html", "results.json", "measures.json", "machine.json")
MOST_TOLD = 20


@pages.get("/studies/<study>/report")
@staff(Right.EXPORT)
def report(study: str, problem: Problem | None = None) -> Response:
    """The documents for reports, and the list of reports; before unblinding, a page that explains reports."""
    study_id = g.happe_study_ids(study)
    with parts().database.reading() as session:
        found = session.get_one(Study, study_id)
        protocol = protocol_of(found)
        if found.state != StudyState.UNBLINDED:
            return page("results/report_later", "Report", study=found, problem=problem, protocol=protocol)
        inputs = {kind: _uploaded(session, found, kind) for kind in DocumentKind}
        reports = services.shown(session, study_id)
        measured = next(iter(jobs.of_study(session, study_id, MEASURING)), None)
    facts: dict[str, Any] = {"inputs": inputs, "reports": reports, "protocol": protocol, "measured": measured}
    facts["measuring"] = measured if measured and measured.state in OPEN else None
    making = next((each for each in reports if each.job.state in OPEN), None)
    return page("results/report", "Report", study=found, problem=problem, making=making, **facts)


@pages.post("/studies/<study>/report/<any(measures, machine):what>")
@staff(Right.EXPORT)
@takes(max(MOST_BYTES.values()) + MIB)
@or_again(lambda study, what, problem: report(study, problem))  # noqa: ARG005 - by name
def upload(study: str, what: str) -> AnyResponse:
    """Store the measured power, or a power model, for this study's reports and checks."""
    kind = next(kind for kind, name in FIELDS.items() if name == what)
    with parts().database.reading() as session:
        _unblinded(session, g.happe_study_ids(study))
    raw = _sent(what, MOST_BYTES[kind])
    try:
        documents.read(kind, raw)
    except InputError as error:
        raise _wrong(what, error) from None
    with parts().database.writing() as session:
        found = _unblinded(session, g.happe_study_ids(study))
        session.refresh(found, with_for_update=FOR_CHANGE)  # so that two people do not upload the first one at once
        if kind is DocumentKind.MEASURES:
            measuring.give_up(session, found)
        documents.keep(session, found, kind, raw, caller())
    return done(f"{WORDS[kind][:1].upper()}{WORDS[kind][1:]} is uploaded.", "report_pages.report", study=study)


@pages.post("/studies/<study>/report/power")
@staff(Right.EXPORT)
@or_again(report)
def measure(study: str) -> AnyResponse:
    """Start measuring the power of every run."""
    with parts().database.writing() as session:
        measuring.begin(session, find(session, study), caller())
    return done("The server measures the power of all complete runs.", "report_pages.report", study=study)


@pages.post("/studies/<study>/report")
@staff(Right.EXPORT)
@or_again(report)
def make(study: str) -> AnyResponse:
    """Start a report."""
    with parts().database.writing() as session:
        number = services.begin(session, g.happe_study_ids(study), parts().secrets, caller())
    return done(f"The server is making report {number}.", "report_pages.report", study=study)


@pages.get("/studies/<study>/report/<int:number>")
@staff(Right.EXPORT)
def made(study: str, number: int) -> Response:
    """The page of a report, with its tables and figures."""
    with parts().database.reading() as session:
        found = find(session, study)
        content = json.loads(services.file(session, found.id, number, PAGE))
        names = services.names(session, found.id, number)
    downloads = [name for name in DOWNLOADS if name in names]
    above = ((url_for("report_pages.report", study=study), "Report"),)
    facts: dict[str, Any] = {"made": content, "number": number, "downloads": downloads}
    return page("results/report_made", f"Report {number}", study=found, trail=above, **facts)


@pages.get("/studies/<study>/report/<int:number>/<file>")
@staff(Right.EXPORT)
def download(study: str, number: int, file: str) -> Response:
    """A file of a report. Browsers show a figure, and save any other file."""
    with parts().database.reading() as session:
        if file == PAGE:
            raise not_found()
        found = services.file(session, g.happe_study_ids(study), number, file)
        answer = Answer(found, content_type=MEDIA_TYPES[file.rpartition(".")[2]])
    if not file.endswith(".svg"):
        answer.headers["Content-Disposition"] = f'attachment; filename="{study}-{number}-{file}"'
    return answer


def _unblinded(session: Session, study_id: int) -> Study:
    """The study. Raises Problem 409 if it is blinded."""
    found = session.get_one(Study, study_id)
    if found.state != StudyState.UNBLINDED:
        raise conflict("blinded", BLINDED)
    return found


def _uploaded(session: Session, study: Study, kind: DocumentKind) -> dict[str, Any] | None:
    found = documents.find(session, study, kind)
    if found is None:
        return None
    by = None if found.account_id is None else session.get_one(Account, found.account_id).email
    return {"sha256": found.sha256, "uploaded_us": found.uploaded_us, "by": by, **documents.told(found)}


def _sent(what: str, most: int) -> bytes:
    """The content of the form's file. Raises Problem 422 if it is missing or too long."""
    file = request.files.get(what)
    if file is None or not file.filename:
        raise mistake(what, "Choose a file.")
    raw = file.stream.read(most + 1)
    if len(raw) > most:
        raise mistake(what, f"The file is longer than {most // MIB} MiB.")
    return raw


def _wrong(what: str, error: InputError) -> Problem:
    """The problem for a wrong document. Each line of the error is `: PLACE: what is wrong`."""
    lines = [line.lstrip(": ") for line in error.lines[:MOST_TOLD]]
    said = f"The file was not accepted. {lines[0]}" + (f" And {len(lines) - 1} more." if len(lines) > 1 else "")
    return unprocessable("Nothing has changed yet. Correct the marked fields below.", FieldError(f"/{what}", said))
