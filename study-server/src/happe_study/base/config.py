# SPDX-License-Identifier: GPL-2.0-or-later
"""The server's configuration: a TOML file, and secrets from files of their own."""

import difflib
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from limits import parse_many
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, ValidationError, model_validator
from pydantic_core import ErrorDetails
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from happe_contract import toml_lines
from happe_study.base.s3 import S3

SECRET_BYTES = 32
SECRET_NAMES = ("session", "password", "allocation")
MEBI = 1 << 20
HIGHEST_PORT = 65535
MOST_BYTES = 64 * 1024  # of the configuration file
DATABASES = ("sqlite", "postgresql+psycopg")
OFF = "off"
HOST_AND_PORT = r"(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9.-]+):[0-9]{1,5}"


def _port(address: str) -> str:
    if address != OFF and int(address.rpartition(":")[2]) > HIGHEST_PORT:
        raise ValueError(f"the port is above {HIGHEST_PORT}")
    return address


def _database(text: str) -> str:
    read_url(text)
    return text


def _rate(text: str) -> str:
    try:
        parse_many(text)
    except ValueError as error:
        raise ValueError("is not a rate, such as '10 per minute; 100 per day'") from error
    return text


# HOST:PORT; with port 0 the system chooses a free port.
Address = Annotated[str, Field(pattern=rf"^{HOST_AND_PORT}$"), AfterValidator(_port)]
AddressOrOff = Annotated[str, Field(pattern=rf"^({OFF}|{HOST_AND_PORT})$"), AfterValidator(_port)]
Rate = Annotated[str, AfterValidator(_rate)]
Whole = Annotated[int, Strict()]
Share = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
DatabaseUrl = Annotated[str, AfterValidator(_database)]


class ConfigError(Exception):
    """The configuration can't be used; the message names the file and the field."""


class Limits(BaseModel):
    """The limits for an upload, device and study, and for the free disk space. In bytes, except for the rates."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    record_bytes: Whole = Field(default=8 * MEBI, ge=1)
    part_bytes: Whole = Field(default=64 * MEBI, ge=1)
    device_bytes: Whole = Field(default=256 << 30, ge=1)
    study_bytes: Whole = Field(default=1 << 40, ge=1)
    free_bytes: Whole = Field(default=1 << 30, ge=0)
    login: Rate = "10 per minute; 60 per hour"
    enrol: Rate = "100 per minute"
    participant: Rate = "1200 per minute"


class Config(BaseModel):
    """The server's data folder, addresses and limits.

    `database_url` is a URL for SQLAlchemy (`postgresql+psycopg://...`); the default is SQLite in the data folder.
    `database_url_file` names a file with that URL, if it has a password. `public_url` is the URL for browsers; if it is
    https, browsers send cookies over https only. `trusted_proxies` is the number of reverse proxies whose X-Forwarded
    headers the server believes; without one it listens on loopback only. A custodian who got the role or a password
    after the study's lock must wait `custodian_wait_hours` before unblinding. Before `least_share_of_run` of its
    planned time a run can't end, only be aborted. Jobs write backups to the folder `backups`. `s3` is the store of
    power traces; the default is a folder in the data folder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Path
    secrets: Path | None = None
    database_url: DatabaseUrl | None = None
    database_url_file: Path | None = None
    listen: Address = "127.0.0.1:8080"
    metrics_listen: AddressOrOff = "127.0.0.1:9180"
    public_url: Annotated[str, Field(pattern=r"^https?://[^/?#\s]+$")] = "http://127.0.0.1:8080"
    trusted_proxies: Whole = Field(default=0, ge=0, le=8)
    workers: Whole = Field(default=2, ge=1, le=64)
    threads: Whole = Field(default=8, ge=1, le=256)
    jobs: Whole = Field(default=1, ge=0, le=64)
    stop_seconds: Whole = Field(default=30, ge=1, le=3600)
    custodian_wait_hours: Whole = Field(default=24, ge=0, le=720)
    least_share_of_run: Share = 0.9
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_addresses: bool = False
    limits: Limits = Limits()
    backups: Path | None = None
    s3: S3 | None = None

    @model_validator(mode="after")
    def _behind_a_proxy(self) -> Self:
        if not self.trusted_proxies and not is_loopback(self.listen):
            raise ValueError(
                f"listen: only a proxy may reach the server from beyond this machine, and none is trusted: "
                f"listen on 127.0.0.1, or set trusted_proxies to the number of proxies in front of {self.listen}"
            )
        return self

    @model_validator(mode="after")
    def _one_database(self) -> Self:
        if self.database_url and self.database_url_file:
            raise ValueError("database_url and database_url_file both name the database; keep one")
        return self

    @property
    def secrets_folder(self) -> Path:
        """The folder that holds the secrets' files."""
        return self.secrets or self.data / "secrets"

    @property
    def traces_folder(self) -> Path:
        """The folder that holds the parts of power traces."""
        return self.data / "traces"

    @property
    def url(self) -> str:
        """The database's URL. Raises ConfigError if `database_url_file` cannot be read or holds no usable URL."""
        if self.database_url_file is None:
            return self.database_url or f"sqlite:///{self.data / 'server.db'}"
        try:
            text = self.database_url_file.read_text(encoding="utf-8").strip()
            read_url(text)
        except (OSError, ValueError) as error:
            raise ConfigError(f"{self.database_url_file}: {getattr(error, 'strerror', None) or error}") from error
        return text

    @property
    def https(self) -> bool:
        """Whether browsers reach the server over https."""
        return self.public_url.startswith("https:")


def host_and_port(address: str) -> tuple[str, int]:
    """Split HOST:PORT. An IPv6 address loses its brackets."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach HOST:PORT."""
    host, _port = host_and_port(address)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, repr=False)
class Secrets:
    """32 random bytes for each purpose. Without `allocation`, nobody can open the conditions of a blinded study."""

    session: bytes
    password: bytes
    allocation: bytes


def read_url(text: str) -> URL:
    """Parse a database's URL. The ValueError for a wrong URL does not repeat the text, which may hold a password."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError("is not the URL of a database, such as postgresql+psycopg://user@host/name") from None
    if url.drivername not in DATABASES:
        raise ValueError(f"begins with none of {', '.join(f'{name}://' for name in DATABASES)}")
    if url.drivername == "sqlite" and not url.database:
        raise ValueError("names no file, such as sqlite:////var/lib/happe-server/server.db")
    return url


def load_config(path: Path) -> Config:
    """Read the configuration from a file. Its relative paths start at the file's folder. Raises ConfigError, OSError.

    The message of a ConfigError has a line `FILE:LINE: FIELD: what is wrong` for each mistake.
    """
    with path.open("rb") as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise ConfigError(f"{path}: is longer than {MOST_BYTES} bytes")
    try:
        document = toml_lines.read(raw)
    except toml_lines.TomlError as error:
        raise ConfigError(f"{path}:{error.line}: {error.message}") from error
    try:
        return read_config(document.data, path.resolve().parent)
    except ValidationError as error:
        raise ConfigError("\n".join(f"{path}:{document.line(e['loc'])}: {said(e)}" for e in error.errors())) from error


def read_config(fields: dict[str, Any], folder: Path) -> Config:
    """A configuration from its fields, its paths made absolute. Raises pydantic's ValidationError."""
    config = Config.model_validate(fields)
    paths: dict[str, Any] = {
        name: folder / value
        for name in ("data", "secrets", "database_url_file", "backups")
        if (value := getattr(config, name)) is not None
    }
    if config.s3 is not None and config.s3.credentials_file is not None:
        file = folder / config.s3.credentials_file
        paths["s3"] = config.s3.model_copy(update={"credentials_file": file})
    return config.model_copy(update=paths)


def said(error: ErrorDetails) -> str:
    """A pydantic error in plain words: the field, and what is wrong with it. The value does not appear."""
    name = ".".join(map(str, error["loc"]))
    match error["type"]:
        case "extra_forbidden":
            return f"{name}: unknown{_meant(error['loc'])}"
        case "value_error":
            return f"{name}: {error['ctx']['error']}".removeprefix(": ")
        case "string_pattern_mismatch":
            return f"{name}: {SHAPES[str(error['loc'][-1])]}"
    return f"{name}: {WORDS.get(error['type']) or error['msg'][:1].lower() + error['msg'][1:]}"


SECTIONS: dict[str, type[BaseModel]] = {"limits": Limits, "s3": S3}
WORDS = {
    "missing": "must be there",
    "path_type": "must be a path",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
}
SHAPES = {
    "listen": "must be HOST:PORT, such as 127.0.0.1:8080 or [::1]:8080",
    "metrics_listen": "must be HOST:PORT, such as 127.0.0.1:9180, or 'off'",
    "public_url": "must be https://HOST or http://HOST:PORT, with no path",
    "bucket": "must be the name of a bucket: 3 to 63 small letters, digits, hyphens, dots",
    "endpoint": "must be https://HOST or http://HOST:PORT, with no path",
    "region": "must be a region, such as eu-central-1",
}


def _meant(path: tuple[int | str, ...]) -> str:
    known = SECTIONS[str(path[0])].model_fields if len(path) > 1 else Config.model_fields
    close = difflib.get_close_matches(str(path[-1]), known, n=1)
    return f"; did you mean {'.'.join([*map(str, path[:-1]), close[0]])}?" if close else ""


COPY_SECRETS = (
    "copy the folder `secrets` from another server of this database, or from a backup; "
    "if they are lost, see `happe-server migrate --help`"
)


def load_secrets(folder: Path) -> Secrets:
    """Read the secrets of a folder. Each file is hexadecimal, readable only by its owner. Raises ConfigError."""
    return Secrets(**{name: _load_secret(folder / f"{name}.key") for name in SECRET_NAMES})


def _load_secret(path: Path) -> bytes:
    try:
        mode = path.stat().st_mode & 0o777
        secret = bytes.fromhex(path.read_text())
    except PermissionError as error:
        raise ConfigError(f"{path}: {error.strerror}\nrun it as root or as the user of the server") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}\n{COPY_SECRETS}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: {error}\n{COPY_SECRETS}") from error
    if mode & 0o077:
        raise ConfigError(f"{path}: others can read it (mode {mode:03o})\nchmod 600 {path}")
    if len(secret) != SECRET_BYTES:
        raise ConfigError(f"{path}: {len(secret)} bytes, not {SECRET_BYTES}\n{COPY_SECRETS}")
    return secret
