# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that jobs make: exports and reports."""

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Name, Serial


class FilePiece(Base):
    """A piece of a job's file, at most a mebibyte. `at` is the piece's number in the file, from 0."""

    __tablename__ = "file_pieces"
    __table_args__ = (UniqueConstraint("job_id", "name", "at"),)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    job_id: Mapped[int] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Name)
    at: Mapped[int]
    content: Mapped[bytes]
