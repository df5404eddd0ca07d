# SPDX-License-Identifier: GPL-2.0-or-later
"""Every migration goes up and down on both databases, and the last one is what the models say."""

from __future__ import annotations

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError

from happe_study import migrations
from happe_study.clock import now_us
from happe_study.database import Database
from happe_study.models import Base


@pytest.fixture
def database(database_url: str) -> Database:
    return Database(database_url)


def test_a_migrated_database_is_what_the_models_say(database: Database) -> None:
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    database.dispose()


def test_every_migration_goes_down_and_up_again(database: Database) -> None:
    tables = set(inspect(database.engine).get_table_names())
    revisions = ["0001", "0002", "0003_custodians"]
    for revision in revisions:
        migrations.downgrade(database, revision)
        assert migrations.current(database) == revision
        migrations.upgrade(database)
    migrations.downgrade(database, "base")
    assert inspect(database.engine).get_table_names() == ["alembic_version"]
    migrations.upgrade(database)
    assert migrations.current(database) == migrations.head()
    assert set(inspect(database.engine).get_table_names()) == tables
    database.dispose()


@pytest.mark.parametrize("statement", ["UPDATE audit_entries SET action = 'x'", "DELETE FROM audit_entries"])
def test_the_database_refuses_to_change_the_audit_log(database: Database, statement: str) -> None:
    with database.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO audit_entries (number, at_us, action, detail_sha256, chain_sha256) "
                "VALUES (1, 1, 'a', 'b', 'c')"
            )
        )
    with pytest.raises(DBAPIError, match="append-only"), database.engine.begin() as connection:
        connection.execute(text(statement))
    database.dispose()


def test_a_role_of_an_older_server_is_held_since_the_upgrade_and_no_old_token_is_fresh(database: Database) -> None:
    # Given
    migrations.downgrade(database, "0002")
    with database.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO accounts (id, email, active, password_given, fs_uniquifier, created_us) "
                "VALUES (1, 'carl@example.org', :yes, :no, 'x', 1)"
            ),
            {"yes": True, "no": False},
        )
        connection.execute(text("INSERT INTO grants (id, account_id, role) VALUES (1, 1, 'custodian')"))
        columns = "(id, sha256, kind, account_id, created_us)"
        connection.execute(text(f"INSERT INTO tokens {columns} VALUES (1, 'x', 'account', 1, 1)"))  # noqa: S608 - ours
    before_us = now_us()

    # When
    migrations.upgrade(database)

    # Then
    with database.engine.connect() as connection:
        assert connection.scalar(text("SELECT granted_us FROM grants")) >= before_us
        assert connection.scalar(text("SELECT proven_us FROM tokens")) is None
        assert connection.scalar(text("SELECT password_given_us FROM accounts")) is None
    database.dispose()
