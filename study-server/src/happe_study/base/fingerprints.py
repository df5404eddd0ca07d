# SPDX-License-Identifier: GPL-2.0-or-later
"""Fingerprints of secrets. The database stores its server's; a server with other secrets refuses to start."""

import hashlib

from sqlalchemy import delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from happe_study.base.config import COPY_SECRETS, SECRET_NAMES, ConfigError, Secrets
from happe_study.base.database import Base, Database, Digest, Name


class SecretFingerprint(Base):
    """The fingerprint of a secret."""

    __tablename__ = "secret_fingerprints"

    name: Mapped[str] = mapped_column(Name, primary_key=True)
    sha256: Mapped[str] = mapped_column(Digest)


def of(secrets: Secrets) -> dict[str, str]:
    """The SHA-256 fingerprint of each secret, by name. Nobody can guess the secret, because it has 256 random bits."""
    return {
        name: hashlib.sha256(b"happe fingerprint " + name.encode() + getattr(secrets, name)).hexdigest()
        for name in SECRET_NAMES
    }


def known(session: Session) -> dict[str, str]:
    """The fingerprints that the database stores, by the secret's name."""
    return {row.name: row.sha256 for row in session.scalars(select(SecretFingerprint))}


def record(session: Session, secrets: Secrets) -> None:
    """Replace the stored fingerprints by those of these secrets."""
    session.execute(delete(SecretFingerprint))
    session.add_all(SecretFingerprint(name=name, sha256=digest) for name, digest in of(secrets).items())


def require(database: Database, secrets: Secrets) -> None:
    """Raise ConfigError unless the database stores the fingerprints of these secrets."""
    with database.reading() as session:
        found = known(session)
    if not found:
        raise ConfigError(
            "the database does not know its server's secrets yet\nrun `happe-server migrate`, which records them"
        )
    others = [name for name, digest in of(secrets).items() if found.get(name) != digest]
    if others:
        files = ", ".join(f"{name}.key" for name in others)
        raise ConfigError(f"{files}: the server of this database has another one, so nothing was done\n{COPY_SECRETS}")
