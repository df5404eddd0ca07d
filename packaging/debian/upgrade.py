# SPDX-License-Identifier: GPL-2.0-or-later
"""Brings the database of /etc/happe/server.toml to the revision of the newly installed program.

usage: python3 upgrade.py needed|migrate

needed: the status is 0 if an SQLite database has another revision, 3 if there is nothing to do, 2 if this program can't
find that out. migrate: keeps a copy of the database beside it, before-REVISION.db, then migrates. PostgreSQL belongs to
its administrator: a message says what to do, and a PostgreSQL that does not answer is no failure.
"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from happe_cli.errors import Failure
from happe_study import migrations
from happe_study.base.config import ConfigError
from happe_study.cli.defaults import CONFIG
from happe_study.cli.errors import PROGRAM, meaning
from happe_study.cli.server import Server

NEEDED, FAILED, NOTHING_TO_DO = 0, 2, 3  # Python itself uses 1, for instance after a traceback


def is_needed(server: Server) -> bool:
    """Say whether to migrate. For PostgreSQL, print a message for its administrator."""
    if server.database.is_sqlite:
        return migrations.current(server.database) != migrations.head()
    try:
        if migrations.current(server.database) != migrations.head():
            PROGRAM.show(["the database is of an older version: back it up, then happe-server migrate"])
    except SQLAlchemyError:
        PROGRAM.show(
            ["the database does not answer; if it is of an older version: back it up, then happe-server migrate"]
        )
    return False


def keep_copy(server: Server) -> Path:
    """Copy the database for its owner alone. Replaces an earlier copy of that revision."""
    source = Path(str(server.database.url.database))
    copy = source.with_name(f"before-{migrations.current(server.database) or 'tables'}.db")
    copy.unlink(missing_ok=True)
    copy.touch(mode=0o600)
    with closing(sqlite3.connect(source)) as database:
        database.execute("VACUUM INTO ?", (str(copy),))
    return copy


def migrate(server: Server) -> None:
    """Migrate. Raises the errors of sqlite3 and migrations, and then leaves the database as it was."""
    before = migrations.current(server.database)
    if before is not None and not migrations.is_known(before):
        server.require_revision()
    copy = keep_copy(server)
    migrations.upgrade(server.database, secrets=server.secrets, traces=server.config.traces_folder)
    print(f"happe-server: the database went from revision {before} to {migrations.head()}; {copy} is as it was")


def main() -> int:
    """Do what the argument asks for."""
    server = Server(CONFIG)
    try:
        if sys.argv[1:] == ["needed"]:
            return NEEDED if is_needed(server) else NOTHING_TO_DO
        migrate(server)
    except (Failure, ConfigError, SQLAlchemyError, OSError, sqlite3.Error) as error:
        failure = error if isinstance(error, Failure) else meaning(error)
        PROGRAM.show(failure.lines if failure else [str(error)])
        PROGRAM.show(["the database is unchanged; solve the problem, then run: dpkg --configure -a"])
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
