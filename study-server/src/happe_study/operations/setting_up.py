# SPDX-License-Identifier: GPL-2.0-or-later
"""A new server: data folder, secrets, database, the lab's people, configuration. All of it, or nothing."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from sqlalchemy import inspect

from happe_cli.disk import sync_file, sync_folder
from happe_study import migrations
from happe_study.app.assembly import create_app
from happe_study.audit import chain
from happe_study.base.config import SECRET_BYTES, SECRET_NAMES, Config, ConfigError, load_secrets, read_config, said
from happe_study.base.database import Database
from happe_study.operations import owner
from happe_study.operations.configuration import written
from happe_study.people.accounts import services as accounts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy.orm import Session

    from happe_study.access.rights import Role

DATA = Path("/var/lib/happe-server")
FIRST_PASSWORD_BYTES = 15  # 20 characters


@dataclass(frozen=True)
class Wish:
    """What the new server is to be. Paths are absolute; `given` are fields of Config.

    `database_url` is one that no file has yet: the server keeps it in a file of its data folder.
    """

    config: Path
    data: Path
    database_url_file: Path | None = None
    database_url: str | None = None
    given: dict[str, Any] = field(default_factory=dict)
    owner: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that the configuration will have."""
        listen = {"public_url": f"http://{self.given['listen']}"} if "listen" in self.given else {}
        file = self.data / "database-url" if self.database_url else self.database_url_file
        url = {"database_url_file": str(file)} if file else {}
        return {"data": str(self.data), **listen, **self.given, **url}


@dataclass(frozen=True)
class Person:
    """Somebody of the lab, and their roles in every study."""

    email: str
    roles: tuple[Role, ...]


def check(wish: Wish) -> Config:
    """The configuration of a new server, if it can be made. Raises ConfigError, OSError, KeyError for the owner."""
    config = check_files(wish)
    if wish.database_url or wish.database_url_file:
        with as_owner(wish):
            _require_empty(wish.database_url or config.url)
    return config


def check_files(wish: Wish) -> Config:
    """The same, whatever the database has."""
    if wish.config.exists():
        raise FileExistsError(errno.EEXIST, "it exists already; nothing was changed", wish.config)
    if wish.data.exists() and any(wish.data.iterdir()):
        raise FileExistsError(errno.ENOTEMPTY, "is not empty; nothing was changed", wish.data)
    try:
        return read_config(wish.fields, wish.config.parent)
    except ValidationError as error:
        raise ConfigError("\n".join(f"--{said(e).replace('_', '-')}" for e in error.errors())) from error


def set_up(wish: Wish, config: Config, password: str, operator: str, lab: Sequence[Person]) -> dict[str, str]:
    """Make the server; the first passwords of its people by their addresses.

    The lab's first person chose this password. If a step fails, the server's folders and files are removed;
    PostgreSQL keeps what it has.
    """
    first_passwords = {person.email: secrets.token_urlsafe(FIRST_PASSWORD_BYTES) for person in lab[1:]}
    with making(wish, config):
        make_secrets(config.secrets_folder)
        _fill_database(config, operator, lab, {**first_passwords, lab[0].email: password})
    return first_passwords


@contextmanager
def making(wish: Wish, config: Config) -> Iterator[None]:
    """Make a server's folders and its configuration. In between, as its owner, comes what is in the folders."""
    with ExitStack() as undo:
        _make_folder(wish.config.parent, undo, 0o755)
        _make_folder(wish.data, undo, 0o700)
        undo.callback(_empty, wish.data)
        wish.data.chmod(0o700)
        if wish.owner is not None:
            os.chown(wish.data, *owner.user_of(wish.owner))
        with as_owner(wish):
            if wish.database_url:
                _write_private(wish.data / "database-url", wish.database_url)
            config.traces_folder.mkdir(mode=0o700)
            yield
        with wish.config.open("x", encoding="utf-8") as file:
            undo.callback(wish.config.unlink)
            os.fchmod(file.fileno(), 0o644)
            file.write(written(wish.fields))
            sync_file(file)
        sync_folder(wish.config.parent)
        undo.pop_all()


def make_secrets(folder: Path) -> None:
    """Make every secret, each in a file of its own that its owner alone can read."""
    folder.mkdir(mode=0o700, parents=True)
    for name in SECRET_NAMES:
        write_secret(folder / f"{name}.key", secrets.token_bytes(SECRET_BYTES))
    sync_folder(folder)


def write_secret(path: Path, secret: bytes) -> None:
    """Write a secret to a new file. Raises FileExistsError."""
    _write_private(path, secret.hex())


def _write_private(path: Path, line: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"{line}\n")
        sync_file(file)


def _fill_database(config: Config, operator: str, lab: Sequence[Person], passwords: Mapping[str, str]) -> None:
    made_secrets = load_secrets(config.secrets_folder)
    database = Database(config.url)
    try:
        migrations.upgrade(database, secrets=made_secrets)
    finally:
        database.dispose()
    app = create_app(config, made_secrets)
    made: Database = app.extensions["happe"].database
    token = chain.SERVER.set(operator)
    try:
        with app.app_context(), made.writing() as session:
            for person in lab:
                _admit(session, person, passwords[person.email], chosen=person is lab[0])
    finally:
        chain.SERVER.reset(token)
        made.dispose()


def _admit(session: Session, person: Person, password: str, *, chosen: bool) -> None:
    account = accounts.create(session, None, person.email, password, given=not chosen)
    for role in person.roles:
        accounts.grant(session, None, account, role, None)


def _require_empty(url: str) -> None:
    """Raise ConfigError if there is something in PostgreSQL's database already."""
    database = Database(url)
    try:
        tables = inspect(database.engine).get_table_names()
    finally:
        database.dispose()
    if tables:
        raise ConfigError(
            "this database has tables already; name an empty one\n"
            "to add a server to those that share it: `happe-server init --join`"
        )


@contextmanager
def as_owner(wish: Wish) -> Iterator[None]:
    """Do something as the user who will run the server: files and PostgreSQL's peer are that user's."""
    if wish.owner is None:
        yield
        return
    user, group = owner.user_of(wish.owner)
    groups = os.getgroups()
    os.initgroups(wish.owner, group)
    os.setegid(group)
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def _make_folder(folder: Path, undo: ExitStack, mode: int) -> None:
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700)
        each.chmod(mode if each == folder else 0o755)
        undo.callback(each.rmdir)


def _empty(folder: Path) -> None:
    for each in folder.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()
