# SPDX-License-Identifier: GPL-2.0-or-later
"""Laptops and measuring hosts in the database, their sittings and their clocks."""

from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Code, Digest, Micros, Name, Serial


class Device(Base):
    """A laptop or meter of a study. It enrols with a code that works once."""

    __tablename__ = "devices"
    __table_args__ = (
        UniqueConstraint("study_id", "name"),
        CheckConstraint("kind IN ('laptop', 'meter')", "kind"),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    code: Mapped[str] = mapped_column(Code, unique=True)
    name: Mapped[str] = mapped_column(Name)
    kind: Mapped[str] = mapped_column(Name)
    public_key: Mapped[bytes | None]  # X25519, 32 bytes
    enrol_sha256: Mapped[str | None] = mapped_column(Digest, unique=True)
    enrol_expires_us: Mapped[int | None] = mapped_column(Micros)
    enrolled_us: Mapped[int | None] = mapped_column(Micros)
    revoked_us: Mapped[int | None] = mapped_column(Micros)
    heartbeat_us: Mapped[int | None] = mapped_column(Micros)
    heartbeat: Mapped[dict[str, Any] | None]
    created_us: Mapped[int] = mapped_column(Micros)


class Sitting(Base):
    """A participant at a laptop. While it lasts, the laptop may start that participant's runs."""

    __tablename__ = "sittings"
    __table_args__ = (Index("ix_sittings_device_id_ended_us", "device_id", "ended_us"),)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    device_id: Mapped[int] = mapped_column(ForeignKey("devices.id", ondelete="CASCADE"))
    participant_id: Mapped[int] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"))
    started_us: Mapped[int] = mapped_column(Micros)
    ended_us: Mapped[int | None] = mapped_column(Micros)


class ClockEstimate(Base):
    """A device's clock compared with the server's: server time = device time + offset, within the uncertainty."""

    __tablename__ = "clock_estimates"
    __table_args__ = (
        UniqueConstraint("device_id", "client_id"),
        Index("ix_clock_estimates_device_id_server_us", "device_id", "server_us"),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    device_id: Mapped[int] = mapped_column(ForeignKey("devices.id", ondelete="CASCADE"))
    client_id: Mapped[str] = mapped_column(Uuid(as_uuid=False))
    clock: Mapped[str] = mapped_column(Name)  # "realtime" or "monotonic:BOOT-ID"
    device_us: Mapped[int] = mapped_column(Micros)
    server_us: Mapped[int] = mapped_column(Micros)
    offset_us: Mapped[int] = mapped_column(Micros)
    uncertainty_us: Mapped[int] = mapped_column(Micros)
    probes: Mapped[int]
