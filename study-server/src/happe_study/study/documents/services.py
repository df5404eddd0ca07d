# SPDX-License-Identifier: GPL-2.0-or-later
"""Finding and storing the measured power and the power model of a study's analysis."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from happe_study.base.clock import now_us
from happe_study.model.audit.chain import append
from happe_study.model.documents import AnalysisDocument, DocumentKind
from happe_study.study.documents.reading import InputError, measures_in, model_in

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.model.rules import Caller
    from happe_study.model.studies import Study
    from happe_study.study.documents.machines import PowerModel
    from happe_study.study.documents.reading import Measure

READERS = {DocumentKind.MEASURES: measures_in, DocumentKind.MODEL: model_in}
NAMES = {DocumentKind.MEASURES: "measures.json", DocumentKind.MODEL: "machine.json"}
MOST_VALUES = 4_000_000  # counted as commas; 32 MiB of measures have about as many
MOST_MEASURES = 32 << 20  # bytes of measures
MOST_REFUSED = 200  # refused runs that a summary shows
MOST_REMEMBERED = 4

_REMEMBERED: OrderedDict[str, dict[str, Any]] = OrderedDict()  # by SHA-256


def find(session: Session, study: Study, kind: DocumentKind) -> AnalysisDocument | None:
    """A study's document of a kind; None if it has none."""
    of_kind = select(AnalysisDocument).where(AnalysisDocument.study_id == study.id, AnalysisDocument.kind == kind)
    return session.scalar(of_kind)


def measures(session: Session, study: Study) -> dict[str, Measure] | None:
    """The runs' measured power, if it exists."""
    found = find(session, study, DocumentKind.MEASURES)
    return measures_in(found.content, NAMES[DocumentKind.MEASURES]) if found else None


def model(session: Session, study: Study) -> PowerModel | None:
    """The machine's power model, if the study has one."""
    found = find(session, study, DocumentKind.MODEL)
    return model_in(found.content, NAMES[DocumentKind.MODEL]) if found else None


def told(document: AnalysisDocument) -> dict[str, Any]:
    """A document's summary. It is cached, because browsers ask every two seconds while a job makes a report."""
    known = _REMEMBERED.get(document.sha256)
    if known is None:
        short = _measures_in_short if document.kind == DocumentKind.MEASURES else _model_in_short
        known = _REMEMBERED[document.sha256] = short(document.content)
        while len(_REMEMBERED) > MOST_REMEMBERED:
            _REMEMBERED.popitem(last=False)
    return known


def _measures_in_short(content: bytes) -> dict[str, Any]:
    measures = measures_in(content, NAMES[DocumentKind.MEASURES]).values()
    refused = [each for each in measures if each.refused]
    calibrations = sorted({each.calibration for each in measures if each.calibration})
    counts = {"measured": len(measures) - len(refused), "refused": len(refused)}
    watts = {each.run: each.mean_w for each in measures if each.mean_w is not None}
    return {**counts, "refusals": refused[:MOST_REFUSED], "calibrations": calibrations, "watts": watts}


def _model_in_short(content: bytes) -> dict[str, Any]:
    return {"machine": model_in(content, NAMES[DocumentKind.MODEL]).machine}


def watts(session: Session, study: Study) -> dict[str, float]:
    """The uploaded mean power of runs, in watts by the run's code. Cached like `told`."""
    of_kind = (AnalysisDocument.study_id == study.id, AnalysisDocument.kind == DocumentKind.MEASURES)
    sha256 = session.scalar(select(AnalysisDocument.sha256).where(*of_kind))
    known = _REMEMBERED.get(sha256 or "")
    if known is None:
        document = find(session, study, DocumentKind.MEASURES)
        known = told(document) if document else {"watts": {}}
    found: dict[str, float] = known["watts"]
    return found


def read(kind: DocumentKind, raw: bytes) -> None:
    """Check an uploaded document. Raises InputError if it is wrong."""
    if raw.count(b",") > MOST_VALUES:
        raise InputError([f"has more than {MOST_VALUES} values"])
    READERS[kind](raw, "")


def keep(session: Session, study: Study, kind: DocumentKind, raw: bytes, who: Caller) -> None:
    """Store a document that `read` accepted, in place of the old one."""
    sha256 = _put(session, study, kind, raw, who.id)
    append(session, "analysis.uploaded", who, study_id=study.id, study=study.name, kind=kind, sha256=sha256)


def keep_measured(session: Session, study: Study, raw: bytes, asked_by: str) -> None:
    """Store the power that the server measured, in place of the old document."""
    sha256 = _put(session, study, DocumentKind.MEASURES, raw, None)
    append(session, "power.measured", None, study_id=study.id, study=study.name, asked_by=asked_by, sha256=sha256)


def _put(session: Session, study: Study, kind: DocumentKind, raw: bytes, account_id: int | None) -> str:
    known = find(session, study, kind)
    if known is None:
        known = AnalysisDocument(study_id=study.id, kind=kind)
        session.add(known)
    known.sha256 = hashlib.sha256(raw).hexdigest()
    known.content, known.uploaded_us, known.account_id = raw, now_us(), account_id
    return known.sha256
