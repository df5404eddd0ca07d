# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts of staff, their roles in studies, and the tokens of accounts, devices and participants."""

from enum import StrEnum

from flask_security.core import UserMixin
from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from happe_study.base.clock import now_us
from happe_study.base.database import Base, Digest, Micros, Name, Serial


class Account(Base, UserMixin):
    """A member of staff, identified by an e-mail address. The columns have the names that Flask-Security asks for."""

    __tablename__ = "accounts"

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    email: Mapped[str] = mapped_column(Name, unique=True)
    password: Mapped[str | None] = mapped_column(Name)  # argon2
    active: Mapped[bool] = mapped_column(default=True)
    password_given: Mapped[bool] = mapped_column(default=False)  # somebody else chose it, so the owner must change it
    password_given_us: Mapped[int | None] = mapped_column(Micros)  # when somebody else last chose the password
    totp_secret: Mapped[bytes | None]  # sealed (second_factor.py); None: the account has no second factor
    totp_step: Mapped[int | None] = mapped_column(BigInteger)  # the time step of the last used code
    fs_uniquifier: Mapped[str] = mapped_column(Name, unique=True)  # changing it ends every session
    created_us: Mapped[int] = mapped_column(Micros)
    grants: Mapped[list["Grant"]] = relationship(back_populates="account", cascade="all, delete-orphan")


class Grant(Base):
    """A role of an account, in one study or (without a study) in all."""

    __tablename__ = "grants"
    __table_args__ = (
        UniqueConstraint("account_id", "role", "study_id"),
        CheckConstraint(
            "role IN ('investigator', 'experimenter', 'analyst', 'custodian', 'auditor', 'administrator', 'reviewer')",
            "role",
        ),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    role: Mapped[str] = mapped_column(Name)
    study_id: Mapped[int | None] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    granted_us: Mapped[int] = mapped_column(Micros, default=now_us)
    account: Mapped[Account] = relationship(back_populates="grants")


class TokenKind(StrEnum):
    """The kind of a token's owner."""

    PARTICIPANT = "participant"
    DEVICE = "device"
    ACCOUNT = "account"


class Token(Base):
    """A bearer token. The database stores only its SHA-256."""

    __tablename__ = "tokens"
    __table_args__ = (
        CheckConstraint("kind IN ('participant', 'device', 'account')", "kind"),
        Index("ix_tokens_device_id", "device_id"),
        Index("ix_tokens_participant_id", "participant_id"),
    )

    id: Mapped[int] = mapped_column(Serial, primary_key=True)
    sha256: Mapped[str] = mapped_column(Digest, unique=True)
    kind: Mapped[str] = mapped_column(Name)
    participant_id: Mapped[int | None] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"))
    device_id: Mapped[int | None] = mapped_column(ForeignKey("devices.id", ondelete="CASCADE"))
    account_id: Mapped[int | None] = mapped_column(ForeignKey("accounts.id", ondelete="CASCADE"))
    created_us: Mapped[int] = mapped_column(Micros)
    proven_us: Mapped[int | None] = mapped_column(Micros)  # when the owner gave the account's password for it
    expires_us: Mapped[int | None] = mapped_column(Micros)
    revoked_us: Mapped[int | None] = mapped_column(Micros)
