# SPDX-License-Identifier: GPL-2.0-or-later
"""The database's identity: a random name, by which a bucket knows its owner.

Backups leave it out. So a restored database is another one, and gets an identity of its own when it needs one.
"""

import secrets
from contextlib import suppress

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from happe_study.base.database import Base, Database, Name


class Identity(Base):
    """The database's identity."""

    __tablename__ = "identity"

    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)  # always 1
    name: Mapped[str] = mapped_column(Name)


def identity(database: Database) -> str:
    """The database's identity, the same for all its servers. Never call it first while you write to the database."""
    query = select(Identity.name)
    row = database.row(query, {})
    if row is None:
        with suppress(IntegrityError), database.writing() as session:  # another server may be faster
            session.add(Identity(number=1, name=secrets.token_hex(16)))
        row = database.row(query, {})
    assert row is not None  # noqa: S101 - nobody deletes it
    name: str = row[0]
    return name
