# SPDX-License-Identifier: GPL-2.0-or-later
"""The server that a command works on, from its configuration file."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from happe_cli.errors import Failure
from happe_study.base import fingerprints
from happe_study.base.config import Config, Secrets, load_config, load_secrets
from happe_study.base.database import Database
from happe_study.cli.errors import VARIABLE
from happe_study.model.audit import chain
from happe_study.operations import migrations, owner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiflask import APIFlask
    from sqlalchemy.orm import Session


class Server:
    """The server that a configuration file describes. It reads only what the command needs."""

    def __init__(self, path: Path) -> None:
        """Store the path, and read nothing yet."""
        self.path = path
        self.operator = owner.operator()

    @cached_property
    def config(self) -> Config:
        """The configuration of an existing server. If root asks for it, the process becomes the owner of its data."""
        config = self._read()
        if not config.data.is_dir():
            raise Failure(os.EX_NOINPUT, f"{config.data}: no such folder; `happe-server init` or `restore` makes it")
        owner.become_owner(config.data)
        return config

    @cached_property
    def empty_config(self) -> Config:
        """The configuration of a server that does not exist yet, except perhaps its data folder."""
        config = self._read()
        if config.data.is_dir():
            owner.become_owner(config.data)
        return config

    def _read(self) -> Config:
        if self.path.exists():
            return load_config(self.path)
        advice = f"`happe-server init` makes one, --config or {VARIABLE} names another"
        raise Failure(os.EX_NOINPUT, f"{self.path}: no such configuration; {advice}")

    @cached_property
    def secrets(self) -> Secrets:
        """The secrets."""
        return load_secrets(self.config.secrets_folder)

    @cached_property
    def database(self) -> Database:
        """The database, without a check of its revision."""
        database = Database(self.config.url)
        if database.is_sqlite and not Path(database.url.database or "").is_file():
            raise Failure(
                os.EX_NOINPUT, f"{database.url.database}: no database; `happe-server init` or `restore` makes one"
            )
        return database

    @cached_property
    def app(self) -> APIFlask:
        """The application, on a database of this program's revision."""
        from happe_study.web.assembly import create_app  # most of the server, which some commands do not need

        self.require_fit()
        return create_app(self.config, self.secrets)

    def close(self) -> None:
        """Close all open connections."""
        if "database" in self.__dict__:
            self.database.dispose()
        if "app" in self.__dict__:
            self.app.extensions["happe"].database.dispose()

    def require_fit(self) -> None:
        """Raise Failure or ConfigError, with advice, if the database has another revision or other secrets."""
        self.require_revision()
        fingerprints.require(self.database, self.secrets)

    def require_revision(self) -> None:
        """Raise a Failure with advice if the database has another revision."""
        found, wanted = migrations.current(self.database), migrations.head()
        if found == wanted:
            return
        migrations.require_known(self.database)
        behind = f"the database is at revision {found or 'none'}, this program needs {wanted}"
        raise Failure(os.EX_CONFIG, f"{behind}; back up, then run `happe-server migrate`")

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction in which the audit log names the operating system's user."""
        database: Database = self.app.extensions["happe"].database
        with self._named(), self.app.app_context(), database.writing() as session:
            yield session

    @contextmanager
    def writing_unfit(self) -> Iterator[Session]:
        """A transaction like `writing`, without an application, which refuses a database with other secrets."""
        with self._named(), self.database.writing() as session:
            yield session

    @contextmanager
    def _named(self) -> Iterator[None]:
        token = chain.SERVER.set(self.operator)
        try:
            yield
        finally:
            chain.SERVER.reset(token)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that changes nothing."""
        self.require_fit()
        with self.database.reading() as session:
            yield session


pass_server = click.make_pass_decorator(Server)
