# SPDX-License-Identifier: GPL-2.0-or-later
"""Migrations of the database, by Alembic. `upgrade` brings an empty database to this program's revision."""

from collections.abc import Callable
from pathlib import Path

from alembic import command
from alembic.config import Config as AlembicConfig
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, select
from sqlalchemy.orm import Session

from happe_study.base import fingerprints
from happe_study.base.config import COPY_SECRETS, ConfigError, Secrets
from happe_study.base.database import Database
from happe_study.model.studies import Study
from happe_study.study.sealing import SealError, open_seed


def upgrade(database: Database, *, secrets: Secrets | None = None) -> None:
    """Migrate the database to this program's revision, and store the fingerprints of `secrets`.

    Raises ConfigError, and alters nothing, if this program does not know the database's revision, or if `secrets` are
    not those of this database's server.
    """
    require_known(database)
    if secrets is not None and (knew := _knows_secrets(database)):
        fingerprints.require(database, secrets)
    _run(database, command.upgrade, "head")
    if secrets is not None and not knew:
        with database.writing() as session:
            tell_secrets(session, secrets)


def require_known(database: Database) -> None:
    """Raise ConfigError unless the database is empty, or of a revision from which this program can migrate."""
    revision = current(database)
    if revision is None and "studies" in inspect(database.engine).get_table_names():
        revision = "none"
    if revision is not None and not is_known(revision):
        raise ConfigError(
            f"the database is at revision {revision}, which this program does not know\n"
            "run the version of HAPPE that made it; this program has not changed it"
        )


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
    if current(database) is None:
        return False
    with database.reading() as session:
        return bool(fingerprints.known(session))


def downgrade(database: Database) -> None:
    """Remove all tables."""
    _run(database, command.downgrade, "base")


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


def _run(database: Database, step: Callable[[AlembicConfig, str], None], revision: str) -> None:
    config = AlembicConfig()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    with database.engine.connect() as connection, connection.begin():
        config.attributes["connection"] = connection
        step(config, revision)
