# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants in the database: pseudonyms, consent and answers. The server never asks for names."""

from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Code, Micros, Name, Serial


class ParticipantState(StrEnum):
    """A participant's progress."""

    INVITED = "invited"  # has a link
    CONSENTED = "consented"
    ENROLLED = "enrolled"  # has answered the questionnaire, and has a slot and runs
    DONE = "done"  # every run is complete
    WITHDRAWN = "withdrawn"  # by their own wish: data erased or de-identified
    REPLACED = "replaced"  # dropped out; the slot went back


GONE = (ParticipantState.WITHDRAWN, ParticipantState.REPLACED)


class OnWithdrawal(StrEnum):
    """The participant's choice in the consent: what happens with the data after a withdrawal."""

    ERASE = "erase"
    DEIDENTIFY = "deidentify"


class Participant(Base):
    """A participant, known by a random code."""

    __tablename__ = "participants"
    __table_args__ = (
        CheckConstraint("state IN ('invited', 'consented', 'enrolled', 'done', 'withdrawn', 'replaced')", "state"),
        CheckConstraint("on_withdrawal IN ('erase', 'deidentify')", "on_withdrawal"),
        Index("ix_participants_study_id_code", "study_id", "code"),
        Index("ix_participants_study_id_state_code", "study_id", "state", "code"),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    code: Mapped[str] = mapped_column(Code, unique=True)
    state: Mapped[str] = mapped_column(Name, default=ParticipantState.INVITED)
    stratum: Mapped[str | None] = mapped_column(Name)
    consent_version: Mapped[str | None] = mapped_column(Name)
    consent_us: Mapped[int | None] = mapped_column(Micros)
    on_withdrawal: Mapped[str | None] = mapped_column(Name)
    answers: Mapped[dict[str, Any] | None]  # to the questionnaire, by item
    created_us: Mapped[int] = mapped_column(Micros)
    enrolled_us: Mapped[int | None] = mapped_column(Micros)
    handout_us: Mapped[int | None] = mapped_column(Micros)  # when they read the handout
    done_us: Mapped[int | None] = mapped_column(Micros)
    ended_us: Mapped[int | None] = mapped_column(Micros)  # when withdrawn or replaced
