# SPDX-License-Identifier: GPL-2.0-or-later
"""Jobs in the database."""

from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Code, Micros, Name, Serial


class JobState(StrEnum):
    """The states of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN = (JobState.WAITING, JobState.RUNNING)


class Job(Base):
    """A job. The worker with the `lease` does it; the work of any other worker has no effect."""

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", "state"),
        Index("ix_jobs_study_id_kind_id", "study_id", "kind", "id"),
        Index("ix_jobs_state", "state"),
        {"sqlite_autoincrement": True},  # it never uses a number again
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    kind: Mapped[str] = mapped_column(Name)
    study_id: Mapped[int | None] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    asked_by: Mapped[str] = mapped_column(Name)
    arguments: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(Name, default=JobState.WAITING)
    requested_us: Mapped[int] = mapped_column(Micros)
    started_us: Mapped[int | None] = mapped_column(Micros)  # the start of the last try
    finished_us: Mapped[int | None] = mapped_column(Micros)
    tries: Mapped[int] = mapped_column(default=0)  # how often a worker has begun it since somebody asked for it
    lease: Mapped[str | None] = mapped_column(Code)
    alive_us: Mapped[int | None] = mapped_column(Micros)  # when the worker said last that it is alive
    worker: Mapped[str] = mapped_column(Name, default="")  # HOST:PID, of the last try
    step: Mapped[int] = mapped_column(default=0)
    steps: Mapped[int] = mapped_column(default=0)
    doing: Mapped[str] = mapped_column(Name, default="")
    failed: Mapped[str | None] = mapped_column(Text)  # why
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
