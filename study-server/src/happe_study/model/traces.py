# SPDX-License-Identifier: GPL-2.0-or-later
"""Power traces in the database. Their parts are files; a part's row says that its file is complete.

Power reveals conditions. So the server seals parts with their trace's key, and manifests until it unblinds the study.
The database has only keyed digests of the bytes that the meter sent.
"""

from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Digest, Micros, Name, Serial


class Trace(Base):
    """A recording of one meter at one laptop (profiles/schema/power-trace.schema.json)."""

    __tablename__ = "traces"
    __table_args__ = (
        Index("ix_traces_study_id_client_id", "study_id", "client_id"),
        Index("ix_traces_device_id", "device_id"),
        Index("ix_traces_laptop_id_created_us_sealed_us", "laptop_id", "created_us", "sealed_us"),
        Index(
            "ix_traces_study_id_device_id_sealed_us_parts_stored_bytes",
            "study_id",
            "device_id",
            "sealed_us",
            "parts",
            "stored_bytes",
        ),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    device_id: Mapped[int] = mapped_column(ForeignKey("devices.id"))
    laptop_id: Mapped[int | None] = mapped_column(ForeignKey("devices.id"))
    client_id: Mapped[str] = mapped_column(Uuid(as_uuid=False), unique=True)
    header: Mapped[dict[str, Any]]
    header_sha256: Mapped[str] = mapped_column(Digest)
    key_sealed: Mapped[bytes]  # the key of the trace's parts, sealed
    created_us: Mapped[int] = mapped_column(Micros)
    stored_bytes: Mapped[int] = mapped_column(Micros, default=0)  # size of all its parts' files
    sealed_us: Mapped[int | None] = mapped_column(Micros)
    manifest: Mapped[dict[str, Any] | None]  # only after unblinding
    manifest_sealed: Mapped[bytes | None]  # only before unblinding
    manifest_digest: Mapped[str | None] = mapped_column(Digest)  # keyed digest of the document as the meter sent it
    parts: Mapped[int | None]  # the number of parts in the manifest
    seconds: Mapped[int | None]


class TracePart(Base):
    """One immutable part of a trace: a file in the traces folder."""

    __tablename__ = "trace_parts"
    __table_args__ = (UniqueConstraint("trace_id", "number"),)

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    trace_id: Mapped[int] = mapped_column(ForeignKey("traces.id", ondelete="CASCADE"))
    number: Mapped[int]  # from 0
    bytes: Mapped[int] = mapped_column(Micros)  # of the sealed file
    sha256: Mapped[str] = mapped_column(Digest)  # of the sealed file
    digest: Mapped[str] = mapped_column(Digest)  # keyed digest of the size and SHA-256 of the bytes that the meter sent
    received_us: Mapped[int] = mapped_column(Micros)


class SweptPart(Base):
    """A stored part that a sweep found, and that no row names. A later sweep deletes it."""

    __tablename__ = "swept_parts"

    key: Mapped[str] = mapped_column(Name, primary_key=True)  # its name in the store
    found_us: Mapped[int] = mapped_column(Micros)  # when a sweep first found it
