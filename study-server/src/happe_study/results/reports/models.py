# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports in the database, and the documents that were uploaded for them."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Digest, Micros, Name, Serial


class DocumentKind(StrEnum):
    """What can be uploaded for a study's analysis."""

    MEASURES = "power-measures"  # profiles/schema/power-measures.schema.json
    MODEL = "power-model"  # profiles/schema/power-model.schema.json


class AnalysisDocument(Base):
    """A document as it came, one of each kind in a study: a new one takes its place."""

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
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))


class Report(Base):
    """A report, made or in the making: `finished_us` and `failed` say how it ended.

    One that neither has is in the making while a process holds the lock of its study (job.py); else that died.
    """

    __tablename__ = "reports"
    __table_args__ = (UniqueConstraint("study_id", "number"), {"sqlite_autoincrement": True})  # no number comes again

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    number: Mapped[int]  # from 1, within the study
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    requested_us: Mapped[int] = mapped_column(Micros)
    finished_us: Mapped[int | None] = mapped_column(Micros)
    step: Mapped[int] = mapped_column(default=0)
    steps: Mapped[int] = mapped_column(default=0)
    doing: Mapped[str] = mapped_column(Name, default="")
    failed: Mapped[str | None] = mapped_column(Text)  # why


class ReportFile(Base):
    """A file of a report that was made."""

    __tablename__ = "report_files"
    __table_args__ = (UniqueConstraint("report_id", "name"),)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    report_id: Mapped[int] = mapped_column(ForeignKey("reports.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Name)
    media_type: Mapped[str] = mapped_column(Name)
    content: Mapped[bytes]
