# SPDX-License-Identifier: GPL-2.0-or-later
"""The audit log: a hash chain over salted digests, and the details that may be erased without breaking it."""

from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Digest, Micros, Name, Serial


class AuditEntry(Base):
    """One link of the chain. A trigger of the database prevents changes and deletion."""

    __tablename__ = "audit_entries"

    number: Mapped[int] = mapped_column(Serial, primary_key=True, autoincrement=False)  # from 1, without gaps
    at_us: Mapped[int] = mapped_column(Micros)
    action: Mapped[str] = mapped_column(Name)
    detail_sha256: Mapped[str] = mapped_column(Digest)  # of the salt and the detail's canonical JSON
    chain_sha256: Mapped[str] = mapped_column(Digest)  # of the entry before and of this one


class AuditDetail(Base):
    """The person, action and object of an entry. The server erases it together with its participant."""

    __tablename__ = "audit_details"
    __table_args__ = (Index("ix_audit_details_participant_id", "participant_id"),)

    number: Mapped[int] = mapped_column(ForeignKey("audit_entries.number"), primary_key=True, autoincrement=False)
    study_id: Mapped[int | None] = mapped_column(ForeignKey("studies.id"))
    participant_id: Mapped[int | None] = mapped_column(ForeignKey("participants.id"))
    salt: Mapped[bytes]
    detail: Mapped[dict[str, Any]]


class AuditHead(Base):
    """The last link, in one row. Appending locks this row, so appends happen one after another."""

    __tablename__ = "audit_head"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # always 1
    number: Mapped[int] = mapped_column(Micros)
    chain_sha256: Mapped[str] = mapped_column(Digest)
