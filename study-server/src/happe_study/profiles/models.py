# SPDX-License-Identifier: GPL-2.0-or-later
"""What was learned in runs: UAFPs and the key presses that made them. Shown to nobody before unblinding."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.database import Base, Micros, Name, Serial


class Uafp(Base):
    """A UAFP before or after a run: ten kHz values for levels 0 to 9 (A.4)."""

    __tablename__ = "uafps"
    __table_args__ = (
        UniqueConstraint("run_id", "moment"),
        CheckConstraint("moment IN ('before', 'after')", "moment"),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    moment: Mapped[str] = mapped_column(Name)
    khz: Mapped[list[int]]


class LearningEvent(Base):
    """A key press and what it taught."""

    __tablename__ = "learning_events"
    __table_args__ = (
        Index("ix_learning_events_run_id_t_us", "run_id", "t_us"),
        CheckConstraint("key IN ('performance', 'power')", "key"),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    t_us: Mapped[int] = mapped_column(Micros)  # on the laptop's monotonic clock
    key: Mapped[str] = mapped_column(Name)
    policy: Mapped[int]
    level: Mapped[int]
    from_khz: Mapped[int]
    to_khz: Mapped[int]
    cur_khz: Mapped[int]
    util_ppm: Mapped[int]
