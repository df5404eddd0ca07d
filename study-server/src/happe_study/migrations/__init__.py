# SPDX-License-Identifier: GPL-2.0-or-later
"""Migrations of the database, by Alembic. `upgrade` brings an empty or older database to this program's revision."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import select

from happe_study.base import fingerprints
from happe_study.base.config import COPY_SECRETS, ConfigError
from happe_study.design.allocation.sealing import SealError, open_seed
from happe_study.design.study import Study

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.orm import Session

    from happe_study.base.config import Secrets
    from happe_study.base.database import Database

SECRETS_KNOWN = "0020_secret_fingerprints"


class KeyNeededError(Exception):
    """A migration needs a key to seal or open data, and got none."""


def upgrade(database: Database, revision: str = "head", *, secrets: Secrets | None = None) -> None:
    """Migrate the database up to a revision, and store the fingerprints of `secrets`. Each step is a transaction.

    Raises KeyNeededError if there is data to seal but no key; ConfigError if `secrets` are not those of this database's
    server.
    """
    knew = _knows_secrets(database)
    if secrets is not None and knew:
        fingerprints.require(database, secrets)
    allocation = secrets.allocation if secrets else None
    attributes: dict[str, object] = {"allocation": allocation}
    _run(database, command.upgrade, revision, attributes)
    if secrets is not None and not knew and revision == "head":
        with database.writing() as session:
            tell_secrets(session, secrets)


def tell_secrets(session: Session, secrets: Secrets) -> None:
    """Store the fingerprints of these secrets. Raises ConfigError unless they open the seed of every study."""
    for name, sealed in session.execute(select(Study.name, Study.seed_sealed).where(Study.seed_sealed.is_not(None))):
        try:
            open_seed(secrets.allocation, name, sealed or b"")
        except SealError:
            why = f"allocation.key does not open the seal of {name}: it was locked with another one"
            raise ConfigError(f"{why}\n{COPY_SECRETS}") from None
    fingerprints.record(session, secrets)


def _knows_secrets(database: Database) -> bool:
    if not _is_beyond(current(database), SECRETS_KNOWN):
        return False
    with database.reading() as session:
        return bool(fingerprints.known(session))


def downgrade(database: Database, revision: str, *, allocation: bytes | None = None) -> None:
    """Migrate the database down to a revision ("base": no tables), in one transaction. Raises KeyNeededError."""
    _run(database, command.downgrade, revision, {"allocation": allocation})


def current(database: Database) -> str | None:
    """The database's revision, or None before the first migration."""
    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """The revision that this program needs."""
    revision = ScriptDirectory(str(Path(__file__).parent)).get_current_head()
    assert revision is not None  # noqa: S101 - there is a first migration
    return revision


def is_known(revision: str) -> bool:
    """Whether this program knows a revision, and so can migrate from it."""
    scripts = ScriptDirectory(str(Path(__file__).parent))
    return revision in {script.revision for script in scripts.walk_revisions()}


def _is_beyond(revision: str | None, other: str) -> bool:
    """Whether a revision is the other one or newer."""
    scripts = ScriptDirectory(str(Path(__file__).parent))
    return revision is not None and other in {each.revision for each in scripts.iterate_revisions(revision, "base")}


def _run(
    database: Database, step: Callable[[AlembicConfig, str], None], revision: str, attributes: dict[str, object]
) -> None:
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes = attributes
    with database.engine.connect() as connection, connection.begin():
        attributes["connection"] = connection
        step(config, revision)
