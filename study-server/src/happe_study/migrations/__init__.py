# SPDX-License-Identifier: GPL-2.0-or-later
"""The database's versions, by Alembic. `upgrade` brings an empty or an older database to this program's version."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from happe_study.base.database import Database


class KeyNeededError(Exception):
    """There is something sealed, or to be sealed, and no key was given."""


def upgrade(database: Database, revision: str = "head", *, allocation: bytes | None = None) -> None:
    """Bring the database up to a revision, in one transaction. `allocation` is the key of what is sealed in it.

    Raises KeyNeededError if there is something to seal and no key; so an empty database needs none.
    """
    with database.engine.connect() as connection, connection.begin():
        command.upgrade(_config(connection, allocation), revision)


def downgrade(database: Database, revision: str, *, allocation: bytes | None = None) -> None:
    """Bring the database down to a revision ("base": to nothing), in one transaction. Raises KeyNeededError."""
    with database.engine.connect() as connection, connection.begin():
        command.downgrade(_config(connection, allocation), revision)


def current(database: Database) -> str | None:
    """The database's revision; None: it has none yet."""
    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """The revision that this program works with."""
    revision = ScriptDirectory(str(Path(__file__).parent)).get_current_head()
    assert revision is not None  # noqa: S101 - there is a first migration
    return revision


def is_known(revision: str) -> bool:
    """Whether this program has a revision, and so can go on from it."""
    scripts = ScriptDirectory(str(Path(__file__).parent))
    return revision in {script.revision for script in scripts.walk_revisions()}


def _config(connection: Connection, allocation: bytes | None) -> AlembicConfig:
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["allocation"] = allocation
    return config
