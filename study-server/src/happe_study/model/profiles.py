# SPDX-License-Identifier: GPL-2.0-or-later
"""What HAPPE learned in runs, profiles, and their reviews. No page shows them before unblinding."""

from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, CheckConstraint, ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Code, Micros, Name, Serial


class TaughtRun(Base):
    """A run in which HAPPE served a participant, by its record. Times are microseconds of the laptop's monotonic clock.

    `ladder`: the frequencies that its UAFP can have, ascending, in kHz of the fastest ladder (docs/traces.md). `before`
    and `after`: the UAFP before and after the run, ten kHz for levels 0 to 9 (A.4). `lessons`: as in the record.
    """

    __tablename__ = "taught_runs"

    run_id: Mapped[int] = mapped_column(
        ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    started_us: Mapped[int] = mapped_column(Micros)
    ended_us: Mapped[int] = mapped_column(Micros)
    knew_profile: Mapped[bool]  # otherwise `before` is an untaught one
    ladder: Mapped[list[int]]
    before: Mapped[list[int]]
    after: Mapped[list[int]]
    lessons: Mapped[list[dict[str, Any]]] = mapped_column(JSON)


# The orders of lists. Each has an index.
BY_NAME = ("participant", "application")
ORDERS = {"participant": BY_NAME} | {by: (by, *BY_NAME) for by in ("presses", "last_us", "highest_khz", "unusual")}


# The columns that the review of a study counts.
MARKS = ("flagged", "agrees")


class Profile(Base):
    """A participant's UAFP of an application as the last run left it, and the searchable facts of its history.

    `participant` is the code of `participant_id`, repeated for the indexes. study/profiles/services.py computes all
    columns from the table above, except for `flagged` and `notes`, which come from the reviews.
    """

    __tablename__ = "profiles"
    __table_args__ = (
        UniqueConstraint("participant_id", "application"),
        Index("ix_profiles_study_id_application", "study_id", "application", "participant"),
        *(Index(f"ix_profiles_study_id_{mark}", "study_id", mark, *BY_NAME) for mark in MARKS),
        *(Index(f"ix_profiles_study_id_{order}", "study_id", *columns) for order, columns in ORDERS.items()),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    participant_id: Mapped[int] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"))
    participant: Mapped[str] = mapped_column(Code)
    application: Mapped[str] = mapped_column(Name)
    khz: Mapped[list[int]]
    ladder: Mapped[list[int]]
    f_max_khz: Mapped[int]  # the ladder's top
    highest_khz: Mapped[int]  # the entry of level 9, which is never below another
    runs: Mapped[int]  # runs in which HAPPE served the participant
    performance: Mapped[int]  # presses of this key that taught
    power: Mapped[int]
    presses: Mapped[int]  # of both keys
    taught_in: Mapped[str] = mapped_column(Name)  # labels of conditions, each between spaces
    hit_top: Mapped[bool]  # a press of the performance key asked for the ladder's top
    hit_bottom: Mapped[bool]  # a press of the power key asked for the ladder's bottom
    changed: Mapped[bool]  # a run changed the profile
    agrees: Mapped[bool]  # the lessons lead to the stored profile (history.py)
    last_us: Mapped[int] = mapped_column(Micros)  # the start of the last run that taught it; 0: no run did
    unusual: Mapped[int] = mapped_column(default=0, server_default="0")  # study.profiles.services.rank
    flagged: Mapped[bool] = mapped_column(default=False)
    notes: Mapped[int] = mapped_column(default=0)


class ProfileAssignment(Base):
    """An assignment: this account should review this profile."""

    __tablename__ = "profile_assignments"
    __table_args__ = (Index("ix_profile_assignments_account_id_profile_id", "account_id", "profile_id"),)

    profile_id: Mapped[int] = mapped_column(
        ForeignKey("profiles.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    account_id: Mapped[int] = mapped_column(
        ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )


class ReviewKind(StrEnum):
    """The actions of reviewers on a profile."""

    NOTE = "note"
    FLAG = "flag"
    UNFLAG = "unflag"
    PASS = "pass"  # noqa: S105 - not a password: there is nothing to remark


class ProfileReview(Base):
    """A review of a profile: a note, a pass, or the reason for a flag or its removal. Reviews never change."""

    __tablename__ = "profile_reviews"
    __table_args__ = (
        CheckConstraint("kind IN ('note', 'flag', 'unflag', 'pass')", "kind"),
        Index("ix_profile_reviews_profile_id", "profile_id"),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    profile_id: Mapped[int] = mapped_column(ForeignKey("profiles.id", ondelete="CASCADE"))
    account_id: Mapped[int | None] = mapped_column(ForeignKey("accounts.id"))  # None: the author has no account
    kind: Mapped[str] = mapped_column(Name)
    text: Mapped[str] = mapped_column(Text)
    at_us: Mapped[int] = mapped_column(Micros)
