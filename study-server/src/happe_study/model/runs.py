# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs, their records, and exclusions in the database."""

from enum import StrEnum

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Index,
    Text,
    UniqueConstraint,
    Uuid,
    exists,
    or_,
    text,
)  # fmt: skip
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Code, Digest, Micros, Name, Serial


class Run(Base):
    """One participant uses one application under one condition. Each run has a random code.

    `condition` is empty until unblinding writes it; before, the database has only `condition_sealed`.
    `attempt` counts from 1: a new run at the same position replaces an aborted one.
    """

    __tablename__ = "runs"
    __table_args__ = (
        UniqueConstraint("participant_id", "position", "attempt"),
        CheckConstraint("state IN ('planned', 'started', 'rated', 'complete', 'aborted', 'replaced')", "state"),
        CheckConstraint("phase IN ('training', 'main')", "phase"),
        Index("ix_runs_participant_id_state", "participant_id", "state"),
        Index("ix_runs_study_id_code", "study_id", "code"),
        Index("ix_runs_study_id_state_code", "study_id", "state", "code"),
        Index("ix_runs_study_id_application_state", "study_id", "application", "state"),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    participant_id: Mapped[int] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"))
    study_id: Mapped[int] = mapped_column(BigInteger)  # the participant's study, repeated here for the indexes
    code: Mapped[str] = mapped_column(Code, unique=True)
    position: Mapped[int]  # counts the participant's runs from 1
    attempt: Mapped[int] = mapped_column(default=1)
    application: Mapped[str] = mapped_column(Name)
    phase: Mapped[str] = mapped_column(Name)
    seconds: Mapped[int]
    state: Mapped[str] = mapped_column(Name, default="planned")
    condition_sealed: Mapped[bytes]
    condition: Mapped[str | None] = mapped_column(Name)
    device_id: Mapped[int | None] = mapped_column(ForeignKey("devices.id"))
    start_id: Mapped[str | None] = mapped_column(Uuid(as_uuid=False))  # the laptop's id for this start
    start_sealed: Mapped[bytes | None]  # the answer to the laptop, while the run is on and its key the same
    started_us: Mapped[int | None] = mapped_column(Micros)
    ended_us: Mapped[int | None] = mapped_column(Micros)
    rating: Mapped[int | None]
    rating_id: Mapped[str | None] = mapped_column(Uuid(as_uuid=False))  # the client's id for this rating
    rated_us: Mapped[int | None] = mapped_column(Micros)
    guess: Mapped[str | None] = mapped_column(Name)
    guess_id: Mapped[str | None] = mapped_column(Uuid(as_uuid=False))
    guessed_us: Mapped[int | None] = mapped_column(Micros)
    record_us: Mapped[int | None] = mapped_column(Micros)
    completed_us: Mapped[int | None] = mapped_column(Micros)
    aborted_us: Mapped[int | None] = mapped_column(Micros)
    abort_reason: Mapped[str | None] = mapped_column(Text)
    revealed_us: Mapped[int | None] = mapped_column(Micros)  # when an emergency revealed its condition to a custodian


class RunRecord(Base):
    """A laptop's record of a run (profiles/schema/run-record.schema.json), sealed (study/records/stored.py)."""

    __tablename__ = "run_records"
    __table_args__ = (
        Index(
            "ix_run_records_left",
            "run_id",
            sqlite_where=text("taken_out = 0"),
            postgresql_where=text("NOT taken_out"),
        ),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), unique=True)
    client_id: Mapped[str] = mapped_column(Uuid(as_uuid=False), unique=True)
    digest: Mapped[str] = mapped_column(Digest)  # keyed digest of the document as the laptop sent it
    document: Mapped[bytes]
    received_us: Mapped[int] = mapped_column(Micros)
    taken_out: Mapped[bool] = mapped_column(
        default=False
    )  # whether its lessons are in tables of their own (study/profiles/services.py)


class ExclusionReason(StrEnum):
    """The list of reasons. Each is a fact that people can know without the condition."""

    FAULT = "technical fault"
    DISTURBED = "disturbed"
    PROCEDURE = "not as in the protocol"
    NOT_ELIGIBLE = "not eligible"
    STOPPED = "could not go on"
    OTHER = "other"


class Exclusion(Base):
    """A run or (`run_id` None) a whole participant is excluded. Undoing it deletes the row; the audit log keeps both.

    `blind`: made before anybody could know a condition of what it excludes. Otherwise it is a sensitivity analysis.
    `note` is None once the participant's identity is erased.
    """

    __tablename__ = "exclusions"
    __table_args__ = (
        CheckConstraint(f"reason IN {tuple(map(str, ExclusionReason))}", "reason"),
        Index("ix_exclusions_study_id", "study_id"),
        Index(
            "ix_exclusions_participant_id",
            "participant_id",
            unique=True,
            sqlite_where=text("run_id IS NULL"),
            postgresql_where=text("run_id IS NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    participant_id: Mapped[int] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"))
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), unique=True)
    reason: Mapped[str] = mapped_column(Name)
    note: Mapped[str | None] = mapped_column(Text)  # in the words of whoever excluded it
    blind: Mapped[bool]
    at_us: Mapped[int] = mapped_column(Micros)


def is_excluded() -> ColumnElement[bool]:
    """An SQL condition on `Run`: it was excluded blind, or its participant was."""
    mine = or_(Exclusion.run_id == Run.id, Exclusion.run_id.is_(None))
    return exists().where(Exclusion.participant_id == Run.participant_id, mine, Exclusion.blind)
