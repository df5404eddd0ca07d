# SPDX-License-Identifier: GPL-2.0-or-later
"""Documents in the database for a study's analysis: uploaded, or measured by the server."""

from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Digest, Micros, Name, Serial


class DocumentKind(StrEnum):
    """The kinds of documents that a study's analysis can use."""

    MEASURES = "power-measures"  # profiles/schema/power-measures.schema.json
    MODEL = "power-model"  # profiles/schema/power-model.schema.json


class AnalysisDocument(Base):
    """A document, stored unchanged. A study has at most one of each kind; a new one replaces the old one."""

    __tablename__ = "analysis_documents"
    __table_args__ = (
        UniqueConstraint("study_id", "kind"),
        CheckConstraint("kind IN ('power-measures', 'power-model')", "kind"),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(Name)
    sha256: Mapped[str] = mapped_column(Digest)
    content: Mapped[bytes]
    uploaded_us: Mapped[int] = mapped_column(Micros)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("accounts.id"))  # None: the server measured it
