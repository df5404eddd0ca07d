# SPDX-License-Identifier: GPL-2.0-or-later
"""Setting up a new server: data folder, secrets, database, the lab's accounts, configuration. All or nothing."""

import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from sqlalchemy import inspect, text
from sqlalchemy.orm import Session

from happe_cli.disk import sync_file, sync_folder
from happe_contract import toml_lines
from happe_study.base import fingerprints
from happe_study.base.config import (
    SECRET_BYTES,
    SECRET_NAMES,
    SECTIONS,
    Config,
    ConfigError,
    Secrets,
    load_config,
    load_secrets,
    read_config,
    said,
)
from happe_study.base.database import Database
from happe_study.model.audit import chain
from happe_study.model.rights import Role
from happe_study.operations import migrations, owner
from happe_study.study.people import accounts
from happe_study.web.assembly import create_app

DATA = Path("/var/lib/happe-server")
MAY_MAKE_TABLES = "SELECT current_database(), current_user, has_schema_privilege(current_schema(), 'CREATE')"
FIRST_PASSWORD_BYTES = 15  # 20 characters


@dataclass(frozen=True)
class Wish:
    """The user's choices for the new server. Paths are absolute; `given` has fields of Config.

    Setting up writes `database_url` to a file in the data folder; `database_url_file` names an existing file instead.
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
    """A person of the lab, with roles that hold in every study."""

    email: str
    roles: tuple[Role, ...]


def check(wish: Wish) -> Config:
    """Check that a new server is possible, and return its configuration. ConfigError, OSError; KeyError: no owner."""
    config = check_files(wish)
    if wish.database_url or wish.database_url_file:
        with as_owner(wish):
            _require_empty(wish.database_url or config.url)
    return config


def check_files(wish: Wish) -> Config:
    """Do as `check` does, without looking at the database."""
    if wish.config.exists():
        raise FileExistsError(errno.EEXIST, "it exists already; nothing was changed", wish.config)
    if wish.data.exists() and any(wish.data.iterdir()):
        raise FileExistsError(errno.ENOTEMPTY, "is not empty; nothing was changed", wish.data)
    try:
        return read_config(wish.fields, wish.config.parent)
    except ValidationError as error:
        raise ConfigError("\n".join(f"--{said(e).replace('_', '-')}" for e in error.errors())) from error


def set_up(wish: Wish, config: Config, password: str, operator: str, lab: Sequence[Person]) -> dict[str, str]:
    """Make the server. Returns the first passwords of the lab's other people, by their addresses.

    `password` is the one that the lab's first person chose. If a step fails, this removes the server's folders and
    files, but leaves PostgreSQL as it is.
    """
    first_passwords = {person.email: secrets.token_urlsafe(FIRST_PASSWORD_BYTES) for person in lab[1:]}
    with making(wish, config):
        make_secrets(config.secrets_folder)
        _fill_database(config, operator, lab, {**first_passwords, lab[0].email: password})
    return first_passwords


@contextmanager
def making(wish: Wish, config: Config) -> Iterator[None]:
    """Make a server's folders, run the block as their owner, and then write the configuration."""
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
            sync_folder(wish.data)
        with wish.config.open("x", encoding="utf-8") as file:
            undo.callback(wish.config.unlink)
            os.fchmod(file.fileno(), 0o644)
            file.write(written(wish.fields))
            sync_file(file)
        sync_folder(wish.config.parent)
        undo.pop_all()


def make_secrets(folder: Path) -> None:
    """Make the secrets, each in its own file that only the owner can read."""
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
    """Raise ConfigError if the PostgreSQL database has tables already, or its user may not make any."""
    database = Database(url)
    try:
        tables = inspect(database.engine).get_table_names()
        with database.reading() as session:
            name, user, may = session.execute(text(MAY_MAKE_TABLES)).one()
    finally:
        database.dispose()
    if not may:
        raise ConfigError(
            f"{user} may not make tables in the database {name}; as PostgreSQL's administrator:\n"
            f'psql --command \'ALTER DATABASE "{name}" OWNER TO "{user}"\''
        )
    if tables:
        raise ConfigError(
            "this database has tables already; name an empty one\n"
            "to add a server to those that share it: `happe-server init --join`"
        )


@contextmanager
def as_owner(wish: Wish) -> Iterator[None]:
    """Run the block as the user who will run the server: they own new files, and PostgreSQL knows them as its peer."""
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
        undo.callback(each.rmdir)
        each.chmod(mode if each == folder else 0o755)
        sync_folder(each.parent)


def _empty(folder: Path) -> None:
    for each in folder.iterdir():
        shutil.rmtree(each) if each.is_dir() else each.unlink()


CONFIGURATION = "server.toml"
SECRETS = "secrets"
OF_THE_FIRST = ("secrets", "database_url", "database_url_file")  # the new server keeps these in its own data folder


def wish_of(folder: Path, wish: Wish, *, data_given: bool) -> Wish:
    """Complete a wish from the copy of the first server's configuration in `folder`. Raises ConfigError."""
    file = folder / CONFIGURATION
    first = load_config(file)
    fields: dict[str, Any] = toml_lines.read(file.read_bytes()).data
    data = wish.data if data_given or not Path(fields["data"]).is_absolute() else first.data
    given = {name: value for name, value in fields.items() if name not in {*OF_THE_FIRST, "data"}}
    return replace(wish, data=data, given={**given, **wish.given}, database_url=_url(folder, first, wish))


def _url(folder: Path, first: Config, wish: Wish) -> str:
    """The database's URL, from the file that the user names, a copy beside the configuration, or the original file."""
    copied = folder / first.database_url_file.name if first.database_url_file else None
    named = wish.database_url_file or (copied if copied and copied.is_file() else None)
    url = first.model_copy(update={"database_url": None, "database_url_file": named}).url if named else first.url
    if url.startswith("sqlite"):
        raise ConfigError(f"{folder / CONFIGURATION}: this server has SQLite; servers can share only PostgreSQL")
    return url


def join(folder: Path, wish: Wish) -> Config:
    """Make the server, after checking that the database knows its secrets. Raises ConfigError, OSError."""
    config = check_files(wish)
    secrets = load_secrets(folder / SECRETS)
    with as_owner(wish):
        _require_known(wish.database_url or config.url, secrets)
    with making(wish, config):
        config.secrets_folder.mkdir(mode=0o700)
        for name in SECRET_NAMES:
            write_secret(config.secrets_folder / f"{name}.key", getattr(secrets, name))
    return config


def _require_known(url: str, secrets: Secrets) -> None:
    database = Database(url)
    try:
        found, wanted = migrations.current(database), migrations.head()
        if found != wanted:
            raise ConfigError(
                f"the database is at revision {found or 'none'}, this program needs {wanted}\n"
                "install the version of HAPPE that the first server has"
            )
        fingerprints.require(database, secrets)
    finally:
        database.dispose()


HEAD = """\
# The study server's configuration. docs/study-server.md explains it, `happe-server check` checks it. Every option is
# here; take the # off and change it, then restart the server. Relative paths start at this file's folder.
"""

ABOUT = {
    "data": "Where the database and the power traces are. Only the server's user may enter it (0700).",
    "secrets": "Where the secrets are, if not in the folder `secrets` of the data. Files of the server's user (0600).",
    "database_url": 'A PostgreSQL without a password: "postgresql+psycopg://user@/name?host=/run/postgresql".',
    "database_url_file": (
        "A file with the database's URL, if the URL has a password. Without it: SQLite in the data folder."
    ),
    "listen": "HOST:PORT, for nginx or Caddy, which have TLS. Beyond loopback only with trusted_proxies.",
    "metrics_listen": 'Where Prometheus reads the metrics (GET /metrics), or "off".',
    "public_url": "How browsers reach the server. With https:// cookies travel over https only.",
    "trusted_proxies": "How many reverse proxies stand before the server. It trusts their X-Forwarded headers. 0 to 8.",
    "workers": "Processes. 1 to 64.",
    "threads": "How many requests each process answers at a time. 1 to 256.",
    "jobs": "How many jobs, such as reports, this server does at a time. 0 to 64; 0: `happe-server worker` does them.",
    "stop_seconds": "How many seconds requests in progress may take when the server stops. 1 to 3600.",
    "custodian_wait_hours": "How many hours a custodian who got the role after the lock must wait. 0 to 720.",
    "least_share_of_run": "The share of its planned time that a run must last before its laptop may end it. 0 to 1.",
    "log_level": '"debug", "info", "warning" or "error". "debug" also logs exceptions\' messages, which may repeat\n'
    "# what clients sent: not for a study.",
    "log_addresses": "Whether the log has the address of each request.",
    "backups": "The folder of this machine for the backups that `happe-server backup --job` asks for.",
    "limits": "Limits of uploads, guesses and requests. Sizes are in bytes.",
    "limits.record_bytes": "Of one run's record.",
    "limits.part_bytes": "Of one part of a power trace.",
    "limits.device_bytes": "Of all traces of one device.",
    "limits.study_bytes": "Of all traces of one study.",
    "limits.free_bytes": "Free space to keep on the data's disk; with less, /healthz answers 503.",
    "limits.login": "Wrong passwords and codes, for each account at each address.",
    "limits.enrol": "Wrong enrolment codes and wrong links, for each address.",
    "limits.participant": "Requests to a route by each participant; by unknown people, for each address.",
    "s3": "A bucket that several servers share for the power traces. Without it the traces are in the data folder.",
    "s3.bucket": "Its name. It must exist, and keep no versions.",
    "s3.endpoint": 'Where it is, such as "https://s3.example.org". Without it: Amazon S3.',
    "s3.region": "Its region.",
    "s3.credentials_file": (
        "A file in the format of ~/.aws/credentials (0600). Without it: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
    ),
}


def written(fields: dict[str, Any]) -> str:
    """The text of a configuration file with these fields. All other options are comments."""
    lines = [HEAD, *_section(Config, fields, "")]
    for name, model in SECTIONS.items():
        is_given = name in fields or name == "limits"
        lines += [f"# {ABOUT[name]}", f"{'' if is_given else '#'}[{name}]"]
        lines += _section(model, fields.get(name, {}), f"{name}.")
    return "\n".join(lines)


def _section(model: type[BaseModel], fields: dict[str, Any], prefix: str) -> list[str]:
    lines = []
    for name, option in model.model_fields.items():
        if name in SECTIONS:
            continue
        value = fields.get(name, option.default)
        example = (
            '""' if value is None or not isinstance(value, (str, int, float)) else json.dumps(value, ensure_ascii=False)
        )
        lines += [f"# {ABOUT[prefix + name]}", f"{'' if name in fields else '#'}{name} = {example}", ""]
    return lines
