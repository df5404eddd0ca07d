# SPDX-License-Identifier: GPL-2.0-or-later
"""A backup's manifest: what is in it, and of what server it is."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from happe_study.base.config import SECRET_NAMES

NAME = "manifest.json"
SQLITE_FILE = "server.db"
POSTGRESQL_FILE = "database.dump"
MOST_BYTES = 1 << 30  # of a manifest
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_SECRETS = "|".join(SECRET_NAMES)
# What a backup may hold: parts of power traces as .parquet until revision 0011. Restoring writes no other path.
_PART = rf"traces/[0-9a-f]{{2}}/{_UUID}/[0-9]{{5,9}}\.(sealed|parquet)"
PATHS = rf"^({SQLITE_FILE}|{POSTGRESQL_FILE}|secrets/({_SECRETS})\.key|{_PART})$"

OBJECTS = rf"^traces/{_UUID}/[0-9]{{5,9}}-[0-9a-f]{{64}}\.sealed$"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Path = Annotated[str, Field(pattern=PATHS)]


class NoBackupError(Exception):
    """What was named is no backup, or not a whole one, or not for this server."""


class Entry(BaseModel):
    """A file of a backup."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    size: int = Field(ge=0)  # bytes
    sha256: Sha256


class Object(BaseModel):
    """A part in a bucket, which a backup names and does not have. Its key, with its digest, is its version."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Annotated[str, Field(pattern=OBJECTS)]
    size: int = Field(ge=0)  # bytes
    sha256: Sha256


class Head(BaseModel):
    """The audit log's last link."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: int
    chain_sha256: Sha256


class Manifest(BaseModel):
    """What manifest.json says. `missing` are parts that the database names and the disk did not have, or had changed.

    `objects` are those that a server with a bucket has there.

    `fingerprints` tell whether secrets are the ones that the server had, and nothing of them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    made_us: int
    program: str
    database: Literal["sqlite", "postgresql"]
    database_version: str
    revision: str
    audit: Head
    fingerprints: dict[str, Sha256]
    files: list[Entry]
    missing: list[Path]
    objects: list[Object] = []

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(entry.size for entry in self.files)

    @property
    def has_secrets(self) -> bool:
        """Whether the secrets are in it."""
        return any(entry.path.startswith("secrets/") for entry in self.files)

    def written(self) -> bytes:
        """The manifest as a file."""
        return (self.model_dump_json(indent=1) + "\n").encode()


def read(raw: bytes) -> Manifest:
    """A manifest out of its file. Raises NoBackupError."""
    try:
        manifest = Manifest.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise NoBackupError(f"{NAME} can't be used: {where}: {first['msg']}") from error
    if len({entry.path for entry in manifest.files}) != len(manifest.files):
        raise NoBackupError(f"{NAME} can't be used: it names a file twice")
    return manifest
