# SPDX-License-Identifier: GPL-2.0-or-later
"""Applications on real databases, SQLite and PostgreSQL, for the tests of the study server."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import quicker
from happe_study.base import clock as base_clock
from happe_study.base.database import Database
from happe_study.operations import migrations
from operated import Operated
from postgres import Postgres, cluster, memory
from virtual_clock import Clock
from world import World, fixed_secrets, sqlite_copy

NUMBERS = itertools.count()

settings.register_profile("study-server", deadline=None)  # a busy machine must not fail a test
settings.load_profile("study-server")


@pytest.fixture(autouse=True, scope="session")
def _quick() -> Iterator[None]:
    with quicker.quick():
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A cluster for the session, with a migrated database `template_happe`."""
    with cluster(place=memory()) as made:
        made.execute("CREATE DATABASE template_happe")
        migrated = Database(made.url("template_happe"))
        migrations.upgrade(migrated, secrets=fixed_secrets())
        migrated.dispose()
        yield made


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    database = Database(f"sqlite:///{path}")
    migrations.upgrade(database, secrets=fixed_secrets())
    database.dispose()
    return path


@pytest.fixture
def database_url(request: pytest.FixtureRequest) -> str:
    """A migrated, empty database: SQLite, or of the kinds that a test names (`postgres.ON_BOTH`)."""
    kind = getattr(request, "param", "sqlite")
    url: str = request.getfixturevalue({"sqlite": "sqlite_url", "postgresql": "postgres_url"}[kind])
    return url


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """A migrated, empty SQLite database, for tests that do not depend on the kind of database."""
    return sqlite_copy(sqlite_template, tmp_path)


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """A migrated, empty PostgreSQL database."""
    name = f"happe_{next(NUMBERS)}"
    yield postgres.copy(name)
    postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The server's clock, which stands at the parameter until the test moves it."""
    made = Clock(request.param)
    monkeypatch.setattr(base_clock, "time", made)
    return made


@pytest.fixture
def world(database_url: str, tmp_path: Path) -> Iterator[World]:
    """An empty server."""
    made = World(tmp_path, database_url)
    yield made
    made.close()


@pytest.fixture
def operated(database_url: str, tmp_path: Path) -> Iterator[Operated]:
    """A server with its files."""
    made = Operated(tmp_path, database_url)
    yield made
    made.close()
