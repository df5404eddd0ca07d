# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of a study: starting, listing and finding them, and the job that makes one.

When a participant withdraws, the server deletes the row of an unfinished report. So the job, which uses their data, can
no longer store its result.
"""

import hashlib
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from itertools import count
from pathlib import Path

from sqlalchemy.orm import Session

from happe_study.base.config import Secrets
from happe_study.base.database import FOR_CHANGE
from happe_study.base.problems import conflict, not_found
from happe_study.base.tables import Format
from happe_study.model.audit.chain import append
from happe_study.model.documents import DocumentKind
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import Job
from happe_study.model.jobs.work import FailedError, Kind, Work
from happe_study.model.rights import Right
from happe_study.model.rules import Caller
from happe_study.model.studies import Study, StudyState
from happe_study.results import files
from happe_study.results.exports import services as exports
from happe_study.results.exports.tables import Source
from happe_study.study import documents
from happe_study.study.documents import InputError
from happe_study.study.profiles.services import take_out

REPORT = "report"
TABLES = ("runs", "ratings", "participants", "exclusions", "records", "keys", "samples", "study")
SECTIONS = 12  # steps of the analysis, including reading
PAGE = "page.json"
BLINDED = "A report must wait until the study is unblinded."
MAKING = "The server is making a report of this study. Wait until it is ready."

MEDIA_TYPES = {"html": "text/html; charset=utf-8", "json": "application/json", "svg": "image/svg+xml"}  # by suffix


def make(work: Work) -> None:
    """Make a report from the study as it is now."""
    try:
        made = _made(work)
    except InputError as error:
        lines = "\n".join(error.lines)
        raise FailedError(lines.replace(f"{work.folder}/export/", "").replace(f"{work.folder}/", "")) from None
    with work.taking_effect() as session:
        for name, content in made.items():
            files.keep(session, work.id, name, BytesIO(content))
        study, inputs = session.get_one(Study, work.study_id).name, _inputs_of(made)
        append(
            session,
            "report.made",
            None,
            study_id=work.study_id,
            study=study,
            report=work.arguments["number"],
            power=inputs.get(DocumentKind.MEASURES),
            machine=inputs.get(DocumentKind.MODEL),
        )


KIND = Kind(REPORT, "Report {number}", Right.EXPORT, make, "report_pages.report")


def _inputs_of(made: dict[str, bytes]) -> dict[DocumentKind, str]:
    """The SHA-256 of each document that went into a report. Others may have come while its job waited."""
    sent = {kind: made[name] for kind, name in documents.NAMES.items() if name in made}
    return {kind: hashlib.sha256(content).hexdigest() for kind, content in sent.items()}


def _made(work: Work) -> dict[str, bytes]:
    """The report's files by name."""
    steps = count(1)

    def doing(what: str) -> None:
        step = next(steps)
        work.doing(what, step, max(step, len(TABLES) + SECTIONS + 1))

    modules = ("making", "report")
    making, pages = (import_module(f"happe_study.results.analysis.{name}") for name in modules)
    out = work.folder / "export"
    out.mkdir()
    with work.database.reading() as session:
        study = session.get_one(Study, work.study_id)
        for name in TABLES:
            doing(f"exporting {name}")
            _export(work, study, name, out)
        inputs = dict(_inputs(session, study, work.folder))
    given = making.Given(
        out,
        power=work.folder / documents.NAMES[DocumentKind.MEASURES] if "measures.json" in inputs else None,
        machine=work.folder / documents.NAMES[DocumentKind.MODEL] if "machine.json" in inputs else None,
    )
    report = making.make(given, doing)
    doing("drawing")
    return {
        PAGE: pages.shown(report),
        "report.html": pages.html(report),
        "results.json": pages.results(report),
        **inputs,
        **{f"{picture.key}.svg": picture.svg for section in report.sections for picture in section.pictures},
    }


def _export(work: Work, study: Study, name: str, out: Path) -> None:
    """Write a table as `happe-server study export` does."""
    table = exports.tables(study)[name]
    source = Source(study.id, work.server.secrets.allocation)
    made = exports.Export(source, study.name, table, table.seen(study.state, frozenset(Right)))
    exports.write(work.database, made, Format.CSV, out)


def _inputs(session: Session, study: Study, folder: Path) -> list[tuple[str, bytes]]:
    found = []
    for kind, name in documents.NAMES.items():
        document = documents.find(session, study, kind)
        if document is not None:
            (folder / name).write_bytes(document.content)
            found.append((name, document.content))
    return found


@dataclass(frozen=True)
class Shown:
    """A report in the list of reports."""

    number: int
    job: Job


def begin(session: Session, study_id: int, secrets: Secrets, who: Caller) -> int:
    """Ask for a report, and return its number. Raises Problem 409: the study is blinded, or a report is being made."""
    study = session.get_one(Study, study_id, with_for_update=FOR_CHANGE)
    if study.state != StudyState.UNBLINDED:
        raise conflict("blinded", BLINDED)
    if jobs.open_one(session, REPORT, study_id):
        raise conflict("report", MAKING)
    take_out(session, study_id, secrets)
    number = 1 + max((each.number for each in shown(session, study_id)), default=0)
    jobs.ask(session, REPORT, who.name, study_id, number=number)
    append(session, "report.begun", who, study_id=study_id, study=study.name, report=number)
    return number


def shown(session: Session, study_id: int) -> list[Shown]:
    """A study's reports, newest first."""
    return [Shown(job.arguments["number"], job) for job in jobs.of_study(session, study_id, REPORT)]


def file(session: Session, study_id: int, number: int, name: str) -> bytes:
    """A file of a report. Raises Problem 404."""
    found = files.content(session, _job_id(session, study_id, number), name)
    if not found:
        raise not_found()
    return found


def names(session: Session, study_id: int, number: int) -> set[str]:
    """The names of a report's files. Raises Problem 404."""
    return files.names(session, _job_id(session, study_id, number))


def _job_id(session: Session, study_id: int, number: int) -> int:
    for each in shown(session, study_id):
        if each.number == number:
            return each.job.id
    raise not_found()
