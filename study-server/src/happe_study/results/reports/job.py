# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that makes a report.

When a participant withdraws, the server deletes the row of an unfinished report. So the job, which uses their data, can
no longer store its result.
"""

from __future__ import annotations

import hashlib
from importlib import import_module
from itertools import count
from typing import TYPE_CHECKING

from sqlalchemy import select

from happe_study.base.tables.formats import Format
from happe_study.model.audit.chain import append
from happe_study.model.documents import DocumentKind
from happe_study.model.jobs.work import FailedError, Kind
from happe_study.model.results import Report, ReportFile
from happe_study.model.rights import Right
from happe_study.model.studies import Study
from happe_study.results.exports import services as exports
from happe_study.results.exports.table import Source
from happe_study.study import documents
from happe_study.study.documents import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.orm import Session

    from happe_study.model.jobs.work import Work

REPORT = "report"
TABLES = ("runs", "ratings", "participants", "records", "keys", "samples", "study")
SECTIONS = 12  # steps of the analysis, including reading
PAGE = "page.json"

Files = dict[str, tuple[str, bytes]]  # media type and content, by name


def make(work: Work) -> None:
    """Make a report from the study as it is now."""
    try:
        files = _made(work)
    except InputError as error:
        lines = "\n".join(error.lines)
        raise FailedError(lines.replace(f"{work.folder}/export/", "").replace(f"{work.folder}/", "")) from None
    with work.taking_effect() as session:
        report = session.scalars(select(Report).where(Report.job_id == work.id)).one()
        for name, (media_type, content) in files.items():
            session.add(ReportFile(report_id=report.id, name=name, media_type=media_type, content=content))
        study, inputs = session.get_one(Study, work.study_id).name, _inputs_of(files)
        append(
            session,
            "report.made",
            None,
            study_id=work.study_id,
            study=study,
            report=report.number,
            power=inputs.get(DocumentKind.MEASURES),
            machine=inputs.get(DocumentKind.MODEL),
        )


KIND = Kind(REPORT, "Report {number}", Right.EXPORT, make, "report_pages.report")


def _inputs_of(files: Files) -> dict[DocumentKind, str]:
    """The SHA-256 of each document that went into a report. Others may have come while its job waited."""
    sent = {kind: files[name][1] for kind, name in documents.NAMES.items() if name in files}
    return {kind: hashlib.sha256(content).hexdigest() for kind, content in sent.items()}


def _made(work: Work) -> Files:
    steps = count(1)

    def doing(what: str) -> None:
        step = next(steps)
        work.doing(what, step, max(step, len(TABLES) + SECTIONS + 1))

    modules = ("making", "pages")
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
    figures = {
        f"{picture.key}.svg": ("image/svg+xml", picture.svg)
        for section in report.sections
        for picture in section.pictures
    }
    return {
        PAGE: ("application/json", pages.shown(report)),
        "report.html": ("text/html; charset=utf-8", pages.html(report)),
        "results.json": ("application/json", pages.results(report)),
        **{name: ("application/json", content) for name, content in inputs.items()},
        **figures,
    }


def _export(work: Work, study: Study, name: str, out: Path) -> None:
    """Write a table as `happe-server study export` does."""
    table = exports.tables(study)[name]
    source = Source(study.id, work.server.secrets.allocation)
    made = exports.Export(source, study.name, table, table.seen(study.state, frozenset(Right)))
    with (out / made.file_name(Format.CSV)).open("wb") as file:
        file.writelines(exports.stream(work.database, made, Format.CSV))


def _inputs(session: Session, study: Study, folder: Path) -> list[tuple[str, bytes]]:
    found = []
    for kind, name in documents.NAMES.items():
        document = documents.find(session, study, kind)
        if document is not None:
            (folder / name).write_bytes(document.content)
            found.append((name, document.content))
    return found
