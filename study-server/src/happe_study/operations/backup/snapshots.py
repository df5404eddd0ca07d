# SPDX-License-Identifier: GPL-2.0-or-later
"""Copying the database as it is at one moment to a file, while others write to it."""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from sqlalchemy import create_engine, select, text

from happe_study.audit.models import AuditHead
from happe_study.evidence.traces.models import Trace, TracePart
from happe_study.operations.backup import postgresql
from happe_study.operations.backup.manifest import POSTGRESQL_FILE, SQLITE_FILE, Head

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection

    from happe_study.base.database import Database

PAGES_AT_ONCE = 4096
FULL = ("full", "disk I/O error")  # in SQLite's messages


@dataclass(frozen=True)
class Part:
    """A part of a trace that the database names."""

    trace: UUID
    number: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Snapshot:
    """A copy of the database in a file, with its version, revision, audit head, and the parts that it names."""

    file: Path
    kind: Literal["sqlite", "postgresql"]
    version: str
    revision: str
    head: Head
    parts: list[Part]


def take(database: Database, folder: Path) -> Snapshot:
    """Write the database as it is now into a folder.

    Raises OSError, SQLAlchemyError, ProgramError.
    """
    return _of_sqlite(database, folder) if database.is_sqlite else _of_postgresql(database, folder)


def _of_sqlite(database: Database, folder: Path) -> Snapshot:
    file = folder / SQLITE_FILE
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        _copy_sqlite(str(database.url.database), file)
    except sqlite3.Error as error:
        if any(word in str(error) for word in FULL):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file)) from error
        raise OSError(errno.EIO, str(error), str(database.url.database)) from error
    engine = create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        snapshot = _read(connection, file, "sqlite", sqlite3.sqlite_version)
    engine.dispose()
    return snapshot


def _copy_sqlite(source: str, target: Path) -> None:
    """Copy SQLite's database by its online backup interface. One read transaction keeps writers from restarting it."""
    with closing(sqlite3.connect(source, isolation_level=None)) as old, closing(sqlite3.connect(target)) as new:
        old.execute("BEGIN")
        old.execute("SELECT number FROM audit_head").fetchone()  # the read transaction starts here
        old.backup(new, pages=PAGES_AT_ONCE)
        new.execute("PRAGMA journal_mode=DELETE")  # so that the copy is a single file
        (found,) = new.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(f"the database is damaged: {found}")
        new.execute("DELETE FROM identity")
        new.commit()


def _of_postgresql(database: Database, folder: Path) -> Snapshot:
    file = folder / POSTGRESQL_FILE
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    isolated = database.engine.execution_options(isolation_level="REPEATABLE READ")
    with isolated.connect() as connection:
        name = connection.scalar(text("SELECT pg_export_snapshot()"))
        version = connection.scalar(text("SHOW server_version"))
        postgresql.dump(database.engine, str(name), file)
        return _read(connection, file, "postgresql", str(version))


def _read(connection: Connection, file: Path, kind: Literal["sqlite", "postgresql"], version: str) -> Snapshot:
    number, chain = connection.execute(select(AuditHead.number, AuditHead.chain_sha256)).one()
    revision = connection.scalar(text("SELECT version_num FROM alembic_version"))
    rows = select(Trace.client_id, TracePart.number, TracePart.bytes, TracePart.sha256).join(
        TracePart, TracePart.trace_id == Trace.id
    )
    parts = [
        Part(UUID(row[0]), *row[1:]) for row in connection.execute(rows.order_by(Trace.client_id, TracePart.number))
    ]
    return Snapshot(file, kind, version, str(revision), Head(number=number, chain_sha256=chain), parts)
