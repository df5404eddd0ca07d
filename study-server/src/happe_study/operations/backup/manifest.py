# SPDX-License-Identifier: GPL-2.0-or-later
"""A backup's manifest: the backup's files, and the server that it is from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from happe_study.base.config import SECRET_NAMES

NAME = "manifest.json"
SQLITE_FILE = "server.db"
POSTGRESQL_FILE = "database.dump"
MOST_BYTES = 1 << 30  # the largest manifest
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_SECRETS = "|".join(SECRET_NAMES)
# The paths that a backup may contain; restoring writes no others. Until revision 0011, parts of traces were .parquet.
_PART = rf"traces/[0-9a-f]{{2}}/{_UUID}/[0-9]{{5,9}}\.(sealed|parquet)"
PATHS = rf"^({SQLITE_FILE}|{POSTGRESQL_FILE}|secrets/({_SECRETS})\.key|{_PART})$"

OBJECTS = rf"^traces/{_UUID}/[0-9]{{5,9}}-[0-9a-f]{{64}}\.sealed$"

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Path = Annotated[str, Field(pattern=PATHS)]


class NoBackupError(Exception):
    """It is not a backup, not a complete one, or not one for this server."""


class Entry(BaseModel):
    """A file of a backup."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    size: int = Field(ge=0)  # bytes
    sha256: Sha256


class Object(BaseModel):
    """A part in a bucket. A backup lists it without containing it. Its key contains its digest, so it never changes."""

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
    """The content of manifest.json. `note`: what the backup lacks, in words.

    `missing`: parts that the database names, but which were missing or changed. `objects`: the parts in the bucket, if
    the server has one. `fingerprints` identify the server's secrets without revealing them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    note: str = ""
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
        """The size of all files in bytes."""
        return sum(entry.size for entry in self.files)

    @property
    def has_secrets(self) -> bool:
        """Whether the backup contains the secrets."""
        return any(entry.path.startswith("secrets/") for entry in self.files)

    def written(self) -> bytes:
        """The bytes of the manifest's file."""
        return (self.model_dump_json(indent=1) + "\n").encode()


def read(raw: bytes) -> Manifest:
    """Read a manifest from its file's bytes. Raises NoBackupError."""
    try:
        manifest = Manifest.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise NoBackupError(f"{NAME} can't be used: {where}: {first['msg']}") from error
    if len({entry.path for entry in manifest.files}) != len(manifest.files):
        raise NoBackupError(f"{NAME} can't be used: it names a file twice")
    return manifest
