# SPDX-License-Identifier: GPL-2.0-or-later
"""The measured power and the power model that were uploaded for a study's analysis."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from sqlalchemy import select

from happe_study.analysis.documents import measures_in, model_in
from happe_study.audit.chain import append
from happe_study.clock import now_us
from happe_study.reports.models import AnalysisDocument, DocumentKind

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.analysis.documents import Measure
    from happe_study.analysis.machines import PowerModel
    from happe_study.rules import Caller
    from happe_study.studies.models import Study

READERS = {DocumentKind.MEASURES: measures_in, DocumentKind.MODEL: model_in}
NAMES = {DocumentKind.MEASURES: "measures.json", DocumentKind.MODEL: "machine.json"}


def find(session: Session, study: Study, kind: DocumentKind) -> AnalysisDocument | None:
    """A study's document of a kind."""
    of_kind = select(AnalysisDocument).where(AnalysisDocument.study_id == study.id, AnalysisDocument.kind == kind)
    return session.scalar(of_kind)


def measures(session: Session, study: Study) -> dict[str, Measure] | None:
    """The runs' measured power, if it was uploaded."""
    found = find(session, study, DocumentKind.MEASURES)
    return measures_in(found.content, NAMES[DocumentKind.MEASURES]) if found else None


def model(session: Session, study: Study) -> PowerModel | None:
    """The machine's power model, if it was uploaded."""
    found = find(session, study, DocumentKind.MODEL)
    return model_in(found.content, NAMES[DocumentKind.MODEL]) if found else None


def keep(session: Session, study: Study, kind: DocumentKind, raw: bytes, who: Caller) -> None:
    """Keep a document that was read without an error (READERS), in the place of the one before."""
    known = find(session, study, kind)
    if known is None:
        known = AnalysisDocument(study_id=study.id, kind=kind)
        session.add(known)
    known.sha256 = hashlib.sha256(raw).hexdigest()
    known.content, known.uploaded_us, known.account_id = raw, now_us(), who.id
    append(session, "analysis.uploaded", who, study_id=study.id, study=study.name, kind=kind, sha256=known.sha256)
