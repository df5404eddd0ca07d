# SPDX-License-Identifier: GPL-2.0-or-later
"""Backups of a running server. A backup is a tar of

    server.db or database.dump          the database as it was at one moment (SQLite; PostgreSQL's custom format)
    traces/UU/UUID/NNNNN-SHA256.sealed  the parts of traces that the database names
    secrets/*.key                       only on request
    manifest.json                       written last: every other file with size and SHA-256, the audit's head

With a bucket, the parts stay there, as the manifest says first. A backup leaves out the database's identity, so that a
restored server does not own the bucket. It gets its name when all of it is on the disk.
"""  # noqa: D400, D415 - a list

import errno
import hashlib
import io
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Connection, create_engine, select, text
from sqlalchemy.orm import Session

from happe_cli.disk import UNFINISHED, sync_file, sync_folder
from happe_study.base import fingerprints
from happe_study.base.clock import now_us
from happe_study.base.config import SECRET_NAMES, Config, Secrets
from happe_study.base.database import Database
from happe_study.base.problems import conflict
from happe_study.base.version import VERSION
from happe_study.model.audit.chain import SERVER
from happe_study.model.audit.models import AuditHead
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import Job
from happe_study.model.jobs.work import FailedError, Kind, Work
from happe_study.model.rights import Right
from happe_study.model.traces import Trace, TracePart
from happe_study.operations import postgresql
from happe_study.study.traces.storage import FULL, Folder, Part
from happe_study.study.traces.stores import storage_of

NAME = "manifest.json"
DATABASES = {"sqlite": "server.db", "postgresql": "database.dump"}
MOST_BYTES = 1 << 30  # the largest manifest
UUIDS = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# The paths that a backup may contain; restoring writes no others.
PART = r"[0-9]{5,9}-[0-9a-f]{64}\.sealed"
PATHS = (
    rf"^({'|'.join(DATABASES.values())}|secrets/({'|'.join(SECRET_NAMES)})\.key|traces/[0-9a-f]{{2}}/{UUIDS}/{PART})$"
)
OBJECTS = rf"^traces/{UUIDS}/{PART}$"
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
SQLITE_FULL = ("full", "disk I/O error")  # in SQLite's messages

BACKUP = "backup"
PREFIX = "job-"  # the names of jobs' backups begin with it, so that a job removes no backup of a command
MEBI = 1 << 20
NO_FOLDER = "The option `backups` of this machine's configuration names no folder for backups."
RUNNING = "A job makes a backup already. Wait until it is done, or cancel it."


class NoBackupError(Exception):
    """It is not a backup, not a complete one, or not one for this server."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Entry(_Model):
    """A file of a backup."""

    path: Annotated[str, Field(pattern=PATHS)]
    size: int = Field(ge=0)  # bytes
    sha256: Sha256


class Object(_Model):
    """A part in a bucket. A backup lists it without containing it. Its key contains its digest, so it never changes."""

    key: Annotated[str, Field(pattern=OBJECTS)]
    size: int = Field(ge=0)  # bytes
    sha256: Sha256


class Head(_Model):
    """The audit log's last link."""

    number: int
    chain_sha256: Sha256


class Manifest(_Model):
    """The content of manifest.json. `note`: what the backup lacks, in words.

    `missing`: parts that the database names, but which were missing or changed. `objects`: the parts in the bucket, if
    the server has one. `fingerprints` identify the server's secrets without revealing them.
    """

    note: str = ""
    format: Literal[1] = 1
    made_us: int
    program: str
    database: Literal["sqlite", "postgresql"]
    revision: str
    audit: Head
    fingerprints: dict[str, Sha256]
    files: list[Entry]
    missing: list[str]
    objects: list[Object] = []

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(entry.size for entry in self.files)

    @property
    def has_secrets(self) -> bool:
        """Whether the backup contains the secrets."""
        return any(entry.path.startswith("secrets/") for entry in self.files)


def manifest_of(archive: tarfile.TarFile) -> Manifest:
    """Read a backup's manifest. Raises NoBackupError."""
    members = {member.name: member for member in archive if member.isreg()}
    last = members.get(NAME)
    raw = archive.extractfile(last) if last and last.size <= MOST_BYTES else None
    if raw is None:
        raise NoBackupError(f"it has no {NAME}: it is not a backup, or an incomplete one")
    try:
        found = Manifest.model_validate_json(raw.read())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise NoBackupError(f"{NAME} can't be used: {where}: {first['msg']}") from error
    if len({entry.path for entry in found.files}) != len(found.files):
        raise NoBackupError(f"{NAME} can't be used: it names a file twice")
    return found


@dataclass(frozen=True)
class Source:
    """The server to back up."""

    config: Config
    secrets: Secrets
    database: Database


@dataclass(frozen=True)
class Snapshot:
    """A copy of the database in a file, with its revision, audit head, and the parts that it names with their bytes."""

    file: Path
    revision: str
    head: Head
    parts: list[tuple[Part, int]]


def make(
    source: Source,
    place: Path,
    *,
    with_secrets: bool = False,
    progress: Callable[[int, int], None] = lambda _d, _t: None,
) -> Manifest:
    """Back up a server, which may be running, to a new tar.

    `progress` gets the bytes done and all bytes. Raises OSError, SQLAlchemyError, ProgramError; then no file remains.
    """
    if place.exists():
        raise FileExistsError(errno.EEXIST, "exists already; name another", place)
    if not place.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; make it first", place.parent)
    work = Path(tempfile.mkdtemp(prefix=f".{place.name}-", suffix=UNFINISHED, dir=place.parent))
    unfinished = work / "backup"
    try:
        snapshot = take(source.database, work)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
                made = _Writing(source, archive, progress).write(snapshot, with_secrets=with_secrets)
            sync_file(file)
        unfinished.rename(place)
        sync_folder(place.parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return made


class _Hashing:
    """Reads a file and keeps the digest of what it read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = MEBI, /) -> bytes:
        """The next bytes."""
        piece = self._file.read(size)
        self.digest.update(piece)
        return piece


@dataclass
class _Writing:
    """Adds files to a backup and keeps the list of them."""

    source: Source
    archive: tarfile.TarFile
    progress: Callable[[int, int], None]
    files: list[Entry] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    objects: list[Object] = field(default_factory=list)
    done: int = 0
    total: int = 0

    def write(self, snapshot: Snapshot, *, with_secrets: bool) -> Manifest:
        """Add the database, the parts, the secrets if wanted, and the manifest."""
        config = self.source.config
        storage = storage_of(config, self.source.database)
        self.total = snapshot.file.stat().st_size
        self.total += 0 if config.s3 else sum(size for _part, size in snapshot.parts)
        self._add(snapshot.file.name, snapshot.file)
        snapshot.file.unlink()  # a disk that is nearly full needs the room
        stored = (
            {} if isinstance(storage, Folder) else {e.key: e.bytes for t in storage.traces() for e in storage.stored(t)}
        )
        for part, size in snapshot.parts:
            if isinstance(storage, Folder):
                self._add_part(storage, part, size)
            elif stored.get(storage.key(part)) == size:
                self.objects.append(Object(key=storage.key(part), size=size, sha256=part.sha256))
            else:
                self.missing.append(storage.key(part))
        for name in SECRET_NAMES if with_secrets else ():
            self._add(f"secrets/{name}.key", config.secrets_folder / f"{name}.key")
        made = Manifest(
            note=config.s3.not_in_backups if config.s3 else "",
            made_us=now_us(),
            program=VERSION,
            database="sqlite" if self.source.database.is_sqlite else "postgresql",
            revision=snapshot.revision,
            audit=snapshot.head,
            fingerprints=fingerprints.of(self.source.secrets),
            files=self.files,
            missing=self.missing,
            objects=self.objects,
        )
        raw = (made.model_dump_json(indent=1) + "\n").encode()
        self._member(NAME, io.BytesIO(raw), len(raw))
        return made

    def _add(self, path: str, file: Path) -> None:
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            reader = _Hashing(opened)
            self._member(path, reader, size)
        self.files.append(Entry(path=path, size=size, sha256=reader.digest.hexdigest()))
        self.done += size
        self.progress(self.done, self.total)

    def _add_part(self, storage: Folder, part: Part, size: int) -> None:
        """Add a trace's part, or note that it differs from the database's entry or is missing."""
        file = storage.path(part)
        path = f"traces/{file.relative_to(storage.root)}"
        whole = file.exists() and file.stat().st_size == size
        if whole:
            self._add(path, file)
        if not whole or self.files[-1].sha256 != part.sha256:
            self.missing.append(path)

    def _member(self, path: str, content: IO[bytes] | _Hashing, size: int) -> None:
        member = tarfile.TarInfo(path)
        member.size, member.mode, member.mtime = size, 0o600, now_us() // 1_000_000
        self.archive.addfile(member, content)


def take(database: Database, folder: Path) -> Snapshot:
    """Copy the database into a folder as it is at one moment. Raises OSError, SQLAlchemyError, ProgramError."""
    if database.is_sqlite:
        file = folder / DATABASES["sqlite"]
        _copy_sqlite(str(database.url.database), file)
        engine = create_engine(f"sqlite:///{file}")
        with engine.connect() as connection:
            snapshot = _read(connection, file)
        engine.dispose()
        return snapshot
    file = folder / DATABASES["postgresql"]
    file.touch(0o600)
    with database.engine.execution_options(isolation_level="REPEATABLE READ").connect() as connection:
        postgresql.dump(database.engine, str(connection.scalar(text("SELECT pg_export_snapshot()"))), file)
        return _read(connection, file)


def _copy_sqlite(source: str, target: Path) -> None:
    """Copy SQLite's database in one read transaction, without the identity."""
    target.touch(0o600)
    try:
        with closing(sqlite3.connect(source, isolation_level=None)) as old:
            old.execute("VACUUM INTO ?", (str(target),))
        with closing(sqlite3.connect(target)) as new:
            (found,) = new.execute("PRAGMA quick_check(1)").fetchone()
            if found != "ok":
                raise sqlite3.DatabaseError(f"the database is damaged: {found}")
            new.execute("DELETE FROM identity")
            new.commit()
    except sqlite3.Error as error:
        if any(word in str(error) for word in SQLITE_FULL):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from error
        raise OSError(errno.EIO, str(error), source) from error


def _read(connection: Connection, file: Path) -> Snapshot:
    number, chain = connection.execute(select(AuditHead.number, AuditHead.chain_sha256)).one()
    revision = connection.scalar(text("SELECT version_num FROM alembic_version"))
    named = select(Trace.client_id, TracePart.number, TracePart.sha256, TracePart.bytes).join_from(
        TracePart, Trace, TracePart.trace_id == Trace.id
    )
    rows = connection.execute(named.order_by(Trace.client_id, TracePart.number))
    parts = [(Part(UUID(trace), part, sha256), size) for trace, part, sha256, size in rows]
    return Snapshot(file, str(revision), Head(number=number, chain_sha256=chain), parts)


def ask(session: Session) -> Job:
    """Ask for a backup by a worker. Raises Problem 409 if a job makes one already."""
    jobs.alone(session, None)
    if jobs.open_one(session, BACKUP, None):
        raise conflict("backup", RUNNING)
    moment = datetime.fromtimestamp(now_us() / 1e6, UTC)
    return jobs.ask(session, BACKUP, SERVER.get(), name=f"{PREFIX}{moment:%Y-%m-%d-%H%M%S}.tar")


def _work(work: Work) -> None:
    """Make a backup without secrets. The job's arguments fix its name, so a second try finds the first one's backup."""
    folder = work.server.config.backups
    if folder is None:
        raise FailedError(NO_FOLDER)
    place = folder / work.arguments["name"]
    try:
        for left in folder.glob(f".{PREFIX}*{UNFINISHED}"):  # only one job makes backups, so nobody writes these
            shutil.rmtree(left, ignore_errors=True)
        if not place.exists():
            work.doing("copying the database")
            make(Source(work.server.config, work.server.secrets, work.database), place, progress=_told(work))
        with tarfile.open(place, "r:") as archive:
            made = manifest_of(archive)
    except postgresql.ProgramError as error:
        raise FailedError(str(error)) from None
    except OSError as error:
        if error.errno in FULL:
            raise
        raise FailedError(f"{error.filename or place}: {error.strerror}") from None
    if made.missing:
        raise FailedError(
            f"{place}: it lacks parts of traces ({len(made.missing)}), which the server has lost or damaged."
        )
    with work.taking_effect({"place": str(place), "bytes": made.size}):
        pass


def _told(work: Work) -> Callable[[int, int], None]:
    return lambda done, total: work.doing("copying files", -(-done // MEBI), -(-total // MEBI))


KIND = Kind(BACKUP, "Backup {name}", Right.ACCOUNT_MANAGE, _work)
