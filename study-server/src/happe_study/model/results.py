# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of exports, and reports, in the database."""

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Name, Serial


class ExportPiece(Base):
    """A piece of an export's file, at most a mebibyte. `at` is the piece's number in the file, from 0."""

    __tablename__ = "export_pieces"
    __table_args__ = (UniqueConstraint("job_id", "name", "at"),)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Name)  # the table's
    at: Mapped[int]
    content: Mapped[bytes]


class Report(Base):
    """A report. Its job says whether it is ready."""

    __tablename__ = "reports"
    __table_args__ = (UniqueConstraint("study_id", "number"), {"sqlite_autoincrement": True})  # no number twice

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    number: Mapped[int]  # from 1, within the study
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), unique=True)


class ReportFile(Base):
    """A file of a finished report."""

    __tablename__ = "report_files"
    __table_args__ = (UniqueConstraint("report_id", "name"),)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    report_id: Mapped[int] = mapped_column(ForeignKey("reports.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Name)
    media_type: Mapped[str] = mapped_column(Name)
    content: Mapped[bytes]
