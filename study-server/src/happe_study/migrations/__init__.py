# SPDX-License-Identifier: GPL-2.0-or-later
"""The database's versions, by Alembic. `upgrade` brings an empty or an older database to this program's version."""

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
PARTS_PLAIN = "0011_sealed_traces"  # parts of power traces are sealed between this and the next


class KeyNeededError(Exception):
    """There is something sealed, or to be sealed, and no key was given."""


def upgrade(
    database: Database,
    revision: str = "head",
    *,
    secrets: Secrets | None = None,
    traces: Path | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> None:
    """Bring the database up to a revision. `traces` is the folder of traces. The database knows `secrets` from then on.

    Every step is a transaction, except for the parts of power traces: each of them is one, and an interrupted migration
    goes on with the next try. `progress` receives their bytes, done and in all. Raises KeyNeededError if there is
    something to seal and no key or folder; ConfigError if they are not the secrets of this database's server.
    """
    knew = _knows_secrets(database)
    if secrets is not None and knew:
        fingerprints.require(database, secrets)
    allocation = secrets.allocation if secrets else None
    attributes: dict[str, object] = {"allocation": allocation, "traces": traces}
    if revision == "head" and not _is_beyond(current(database), PARTS_PLAIN):
        _run(database, command.upgrade, PARTS_PLAIN, attributes)
    if revision == "head" and current(database) == PARTS_PLAIN:
        from happe_study.migrations import sealing  # noqa: PLC0415 - which imports what imports this

        sealing.seal_parts(database, traces, allocation, progress)
    _run(database, command.upgrade, revision, attributes)
    if secrets is not None and not knew and revision == "head":
        with database.writing() as session:
            tell_secrets(session, secrets)


def tell_secrets(session: Session, secrets: Secrets) -> None:
    """Let the database know these secrets as its server's. Raises ConfigError if they do not open every study."""
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


def downgrade(
    database: Database, revision: str, *, allocation: bytes | None = None, traces: Path | None = None
) -> None:
    """Bring the database down to a revision ("base": to nothing), in one transaction. Raises KeyNeededError."""
    attributes: dict[str, object] = {"allocation": allocation, "traces": traces}
    _run(database, command.downgrade, revision, attributes)
    if traces is not None and attributes.get("opened"):
        for path in traces.glob("??/*/*.sealed"):
            path.unlink()


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
