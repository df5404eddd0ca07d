# SPDX-License-Identifier: GPL-2.0-or-later
"""The server's configuration: a TOML file, and secrets from files of their own."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - pydantic asks for it
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

SECRET_BYTES = 32
SECRET_NAMES = ("session", "password", "allocation")
MEBI = 1 << 20

Port = Annotated[str, Field(pattern=r"^(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}$")]


class ConfigError(Exception):
    """The configuration can't be used; the message names the file and the field."""


class Limits(BaseModel):
    """What one upload, device or study may take. Bytes, but for the rates (requests)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    record_bytes: int = Field(8 * MEBI, ge=1)
    part_bytes: int = Field(64 * MEBI, ge=1)
    device_bytes: int = Field(256 << 30, ge=1)
    study_bytes: int = Field(1 << 40, ge=1)
    login: str = "10 per minute; 100 per day"
    enrol: str = "20 per minute"
    participant: str = "600 per minute"


class Config(BaseModel):
    """Where the server keeps its data, listens, and what it allows.

    `database_url` is SQLAlchemy's (`postgresql+psycopg://...`); left out, SQLite in the data folder.
    `database_url_file` names a file that holds it, for a URL with a password. `public_url` is how browsers reach the
    server; with https, cookies travel over https only. `trusted_proxies` counts the reverse proxies whose X-Forwarded
    headers are believed.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Path
    secrets: Path | None = None
    database_url: str | None = None
    database_url_file: Path | None = None
    listen: Port = "127.0.0.1:8080"
    metrics_listen: Port | None = "127.0.0.1:9180"
    public_url: Annotated[str, Field(pattern=r"^https?://[^/?#\s]+$")] = "http://127.0.0.1:8080"
    trusted_proxies: int = Field(0, ge=0, le=8)
    workers: int = Field(2, ge=1, le=64)
    threads: int = Field(8, ge=1, le=256)
    limits: Limits = Limits()

    @property
    def secrets_folder(self) -> Path:
        """Where the secrets are."""
        return self.secrets or self.data / "secrets"

    @property
    def traces_folder(self) -> Path:
        """Where parts of power traces are."""
        return self.data / "traces"

    @property
    def url(self) -> str:
        """The database's URL."""
        if self.database_url_file:
            return self.database_url_file.read_text().strip()
        return self.database_url or f"sqlite:///{self.data / 'server.db'}"

    @property
    def https(self) -> bool:
        """Whether browsers reach the server over https."""
        return self.public_url.startswith("https:")


@dataclass(frozen=True, repr=False)
class Secrets:
    """32 random bytes for each purpose. Losing `allocation` loses the conditions of every study not yet unblinded."""

    session: bytes
    password: bytes
    allocation: bytes


def load_config(path: Path) -> Config:
    """The configuration in a file. Relative paths in it start at its folder. Raises ConfigError."""
    try:
        fields = tomllib.loads(path.read_text())
        return read_config(fields, path.resolve().parent)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    except ValidationError as error:
        lines = [f"{path}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
        raise ConfigError("\n".join(lines)) from error


def read_config(fields: dict[str, object], folder: Path) -> Config:
    """A configuration from its fields, its paths made absolute. Raises pydantic's ValidationError."""
    config = Config.model_validate(fields)
    paths = {
        name: folder / value
        for name in ("data", "secrets", "database_url_file")
        if (value := getattr(config, name)) is not None
    }
    return config.model_copy(update=paths)


def load_secrets(folder: Path) -> Secrets:
    """The secrets in a folder, one hexadecimal file each, readable by their owner alone. Raises ConfigError."""
    return Secrets(**{name: _load_secret(folder / f"{name}.key") for name in SECRET_NAMES})


def _load_secret(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode & 0o777
        secret = bytes.fromhex(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: {error}; `happe-server init` makes it") from error
    if mode & 0o077:
        raise ConfigError(f"{path}: others can read it (mode {mode:03o}); chmod 600 it")
    if len(secret) != SECRET_BYTES:
        raise ConfigError(f"{path}: {len(secret)} bytes, not {SECRET_BYTES}")
    return secret
