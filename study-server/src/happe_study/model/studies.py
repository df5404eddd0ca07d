# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies in the database, and their slots, whose plans are sealed."""

from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Digest, Micros, Name, Serial


class StudyState(StrEnum):
    """The states of a study, in order. Locking makes its protocol and allocation final."""

    DRAFT = "draft"
    LOCKED = "locked"
    UNBLINDED = "unblinded"


UNBLINDING = "study.unblinded"  # its entry in the audit log


class Study(Base):
    """A study: its protocol, and the seed of its allocation, which stays sealed until unblinding."""

    __tablename__ = "studies"
    __table_args__ = (CheckConstraint("state IN ('draft', 'locked', 'unblinded')", "state"),)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    name: Mapped[str] = mapped_column(Name, unique=True)  # the protocol's; part of every URL
    title: Mapped[str] = mapped_column(Name)
    protocol: Mapped[str] = mapped_column(Text)  # the TOML document as the sender wrote it
    protocol_sha256: Mapped[str] = mapped_column(Digest)
    protocol_file: Mapped[str | None] = mapped_column(Text)  # the name of its file, as the sender gave it
    state: Mapped[str] = mapped_column(Name, default=StudyState.DRAFT)
    created_us: Mapped[int] = mapped_column(Micros)
    locked_us: Mapped[int | None] = mapped_column(Micros)
    commitment: Mapped[str | None] = mapped_column(Digest)  # SHA-256 of seed and salt, published at lock
    seed_sealed: Mapped[bytes | None]
    unblinded_us: Mapped[int | None] = mapped_column(Micros)
    seed: Mapped[bytes | None]  # revealed at unblinding
    salt: Mapped[bytes | None]


class Slot(Base):
    """A participant's place in the allocation. Locking a study makes its slots.

    `plan_sealed` holds the conditions and their order. When a participant drops out, another can take the slot, so a
    study that completes all slots is exactly balanced.
    """

    __tablename__ = "slots"
    __table_args__ = (
        UniqueConstraint("study_id", "stratum", "position"),
        Index("ix_slots_free", "study_id", "stratum", "participant_id", "position"),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    stratum: Mapped[str] = mapped_column(Name)  # "" in a study without strata
    position: Mapped[int]
    plan_sealed: Mapped[bytes]
    participant_id: Mapped[int | None] = mapped_column(ForeignKey("participants.id"), unique=True)
