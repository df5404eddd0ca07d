# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports in the database."""

from __future__ import annotations

from sqlalchemy import ForeignKey, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Micros, Name, Serial


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
