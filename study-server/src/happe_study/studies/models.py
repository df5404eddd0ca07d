# SPDX-License-Identifier: GPL-2.0-or-later
"""The allocation in the database: slots whose plans are sealed."""

from __future__ import annotations

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Name, Serial


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
