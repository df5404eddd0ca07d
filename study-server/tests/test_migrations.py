# SPDX-License-Identifier: GPL-2.0-or-later
"""The migration goes up and down on both databases, and agrees with the models. Older databases are left alone."""

import hashlib
from collections.abc import Iterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateTable

from happe_study.base.config import ConfigError
from happe_study.base.database import Database
from happe_study.operations import migrations
from happe_study.operations.migrations.tables import Base
from postgres import ON_BOTH
from world import fixed_secrets

pytestmark = ON_BOTH
TABLES = {  # SHA-256 of the models' tables in SQL
    "sqlite": "d3406af28a1bc54d197fa12821ce9eee6d4d4433e49efa5a475aa1e58d32b1fd",
    "postgresql": "080efff803be03ab6f248b9d7ca1e5be074f5e6a1a9bc280c7c8451c497cd648",
}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    made = Database(database_url)
    yield made
    made.dispose()


def test_a_migrated_database_is_what_the_models_say(database: Database) -> None:
    with database.engine.connect() as connection:
        opts = {"compare_type": True}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, Base.metadata) == []


def test_a_change_of_the_models_is_noticed(database: Database) -> None:
    made = hashlib.sha256()
    for table in Base.metadata.sorted_tables:
        made.update(str(CreateTable(table).compile(database.engine)).encode())
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            made.update(str(CreateIndex(index).compile(database.engine)).encode())
    assert made.hexdigest() == TABLES[database.engine.dialect.name], "see 0001_all_tables.py"


def test_the_migration_goes_down_and_up_again(database: Database) -> None:
    tables = set(inspect(database.engine).get_table_names())
    migrations.downgrade(database)
    assert inspect(database.engine).get_table_names() == ["alembic_version"]
    migrations.upgrade(database)
    assert migrations.current(database) == migrations.head()
    assert set(inspect(database.engine).get_table_names()) == tables


@pytest.mark.parametrize("revision", ["0001", "0027_owners_of_buckets", None])
def test_a_database_of_another_revision_is_refused_by_name_and_stays_as_it_is(
    database: Database, revision: str | None
) -> None:
    # Given
    with database.engine.begin() as connection:
        statement = "UPDATE alembic_version SET version_num = :it" if revision else "DELETE FROM alembic_version"
        connection.execute(text(statement), {"it": revision} if revision else {})
        connection.execute(text("DROP TABLE identity"))
    before = set(inspect(database.engine).get_table_names())
    # When
    with pytest.raises(ConfigError, match=f"at revision {str(revision).lower()}, which this program does not know"):
        migrations.upgrade(database, secrets=fixed_secrets())
    # Then
    assert migrations.current(database) == revision
    assert set(inspect(database.engine).get_table_names()) == before


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
