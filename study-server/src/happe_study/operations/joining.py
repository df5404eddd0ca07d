# SPDX-License-Identifier: GPL-2.0-or-later
"""Adding a server to a database: it gets the secrets and the configuration of the first server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from happe_contract import toml_lines
from happe_study.base import fingerprints
from happe_study.base.config import SECRET_NAMES, Config, ConfigError, Secrets, load_config, load_secrets
from happe_study.base.database import Database
from happe_study.operations import migrations
from happe_study.operations.setting_up import Wish, as_owner, check_files, making, write_secret

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
