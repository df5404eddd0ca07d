# SPDX-License-Identifier: GPL-2.0-or-later
"""Restoring a backup into an empty place. It verifies all files before it moves the first to its final place."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tarfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol
from uuid import UUID

from sqlalchemy import inspect

from happe_cli.disk import sync_file, sync_folder
from happe_study import migrations
from happe_study.audit.verify import Head, Report, verify_log
from happe_study.base import fingerprints
from happe_study.base.config import ConfigError, load_secrets
from happe_study.base.database import Database
from happe_study.evidence.traces.storage import Part
from happe_study.evidence.traces.stores import storage_of
from happe_study.operations.backup import manifest, postgresql
from happe_study.operations.backup.making import PIECE
from happe_study.operations.backup.manifest import Entry, Manifest, NoBackupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from happe_study.base.config import Config

STAGE = ".restoring"
MAY_BE_THERE = frozenset({"secrets", "lost+found", STAGE})


class Source(Protocol):
    """A readable backup."""

    manifest: Manifest

    def open(self, path: str) -> IO[bytes]:
        """Open a file of the backup. Raises NoBackupError, OSError."""
        ...


@dataclass(frozen=True)
class Restored:
    """The result of restoring. `secrets`: "restored", "there already", "others are there", or "missing"."""

    manifest: Manifest
    report: Report
    secrets: str
    lost: list[str]  # keys of missing or damaged objects in the bucket; the server may have erased some since

    @property
    def is_whole(self) -> bool:
        """Whether the audit log is complete and ends with the manifest's head."""
        return self.report.is_whole

    @property
    def needs_migration(self) -> bool:
        """Whether the backup's database revision is older than this program's."""
        return self.manifest.revision != migrations.head()


def restore(config: Config, place: Path, progress: Callable[[int, int], None] = lambda _d, _t: None) -> Restored:
    """Restore a backup (folder or tar) to the places in a configuration, and verify the audit log.

    Raises NoBackupError: it is no complete backup, or does not fit the configuration; OSError: a place is not empty, a
    file can't be written, or the bucket does not answer; ConfigError; SQLAlchemyError; ProgramError. After an error,
    the next attempt starts from the beginning.
    """
    with _opened(place) as source:
        database = Database(config.url)
        try:
            _require_fit(source.manifest, config, database)
            stage = config.data / STAGE
            shutil.rmtree(stage, ignore_errors=True)
            stage.mkdir(mode=0o700, parents=True)
            _stage(source, stage, progress)
            lost = list(_lost(source.manifest, config, database, progress))
            secrets = _put_in_place(source.manifest, stage, config, database)
            shutil.rmtree(stage)
            return Restored(source.manifest, _verified(source.manifest, database), secrets, lost)
        finally:
            database.dispose()


def _require_fit(found: Manifest, config: Config, database: Database) -> None:
    if (found.database == "sqlite") != database.is_sqlite:
        raise NoBackupError(
            f"it comes from a server on {found.database}, but the configuration names another kind of database"
        )
    if bool(found.objects) > bool(config.s3):
        raise NoBackupError("its power traces are in an S3 bucket, but the configuration names none: add [s3]")
    if config.s3 and any(entry.path.startswith("traces/") for entry in found.files):
        raise NoBackupError("it has power traces, but the configuration names an S3 bucket: remove [s3]")
    if not migrations.is_known(found.revision):
        raise NoBackupError(f"its database is at revision {found.revision}; restore it with program {found.program}")
    there = {each.name for each in config.data.iterdir()} if config.data.exists() else set()
    if there - MAY_BE_THERE or (found.has_secrets and _has_secrets(config) and not _fits(found, config)):
        raise FileExistsError(errno.ENOTEMPTY, "is not empty; restore to an empty place", config.data)
    if database.is_sqlite:
        if Path(database.url.database or "").exists():
            raise FileExistsError(errno.EEXIST, "exists already", database.url.database)
    elif inspect(database.engine).get_table_names():
        raise FileExistsError(errno.ENOTEMPTY, "has tables; make it again, empty", database.url.database)


def _stage(source: Source, stage: Path, progress: Callable[[int, int], None]) -> None:
    """Copy every file to the folder `stage`, and verify it."""
    done, total = 0, source.manifest.size
    for entry in source.manifest.files:
        target = stage / entry.path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with source.open(entry.path) as opened:
            _copy(opened, target, entry)
        done += entry.size
        progress(done, total)
    for folder, _folders, _files in os.walk(stage, topdown=False):
        sync_folder(Path(folder))


def _copy(source: IO[bytes], target: Path, entry: Entry) -> None:
    digest, size = hashlib.sha256(), 0
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while piece := _read(source, entry):
            file.write(piece)
            digest.update(piece)
            size += len(piece)
        sync_file(file)
    if (size, digest.hexdigest()) != (entry.size, entry.sha256):
        raise NoBackupError(f"{entry.path} differs from the manifest; nothing was restored")


def _read(source: IO[bytes], entry: Entry) -> bytes:
    try:
        return source.read(PIECE)
    except tarfile.ReadError as error:
        raise NoBackupError(f"the archive ends within {entry.path}; nothing was restored") from error


def _put_in_place(found: Manifest, stage: Path, config: Config, database: Database) -> str:
    """Move the files to their places. SQLite's file comes last: without a database, the server can't start."""
    secrets = _put_secrets(found, stage, config)
    if not database.is_sqlite:
        postgresql.restore(database.engine, stage / manifest.POSTGRESQL_FILE)
    traces = stage / "traces"
    traces.mkdir(mode=0o700, exist_ok=True)
    traces.rename(config.traces_folder)
    if database.is_sqlite:
        target = Path(str(database.url.database))
        (stage / manifest.SQLITE_FILE).rename(target)
        sync_folder(target.parent)
    sync_folder(config.data)
    return secrets


def _lost(found: Manifest, config: Config, database: Database, progress: Callable[[int, int], None]) -> Iterator[str]:
    """Read every object that a backup lists, and yield the keys of missing or changed ones."""
    storage, done, total = storage_of(config, database), 0, sum(each.size for each in found.objects)
    for each in found.objects:
        trace, name = each.key.split("/")[1:]
        try:
            part = storage.read(Part(UUID(trace), int(name.partition("-")[0]), each.sha256))
            if hashlib.sha256(part).hexdigest() != each.sha256:
                yield each.key
        except FileNotFoundError:
            yield each.key
        done += each.size
        progress(done, total)


def _put_secrets(found: Manifest, stage: Path, config: Config) -> str:
    if _has_secrets(config):
        return "there already" if _fits(found, config) else "others are there"
    if not found.has_secrets:
        return "missing"
    shutil.copytree(stage / "secrets", config.secrets_folder, dirs_exist_ok=True)
    config.secrets_folder.chmod(0o700)
    sync_folder(config.secrets_folder)
    return "restored"


def _has_secrets(config: Config) -> bool:
    return config.secrets_folder.is_dir() and any(config.secrets_folder.iterdir())


def _fits(found: Manifest, config: Config) -> bool:
    """Whether the present secrets are those of the backup's server."""
    try:
        return fingerprints.of(load_secrets(config.secrets_folder)) == found.fingerprints
    except ConfigError:
        return False


def _verified(found: Manifest, database: Database) -> Report:
    with database.reading() as session:
        return verify_log(session, Head(found.audit.number, found.audit.chain_sha256))


@contextmanager
def _opened(place: Path) -> Iterator[Source]:
    if place.is_dir():
        yield _Folder(place)
        return
    try:
        with tarfile.open(place, "r:") as archive:
            yield _Tar(archive)
    except tarfile.ReadError as error:
        raise NoBackupError(f"the archive is incomplete: {error}") from error


class _Folder:
    """A backup that is a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        if not (root / manifest.NAME).is_file():
            raise NoBackupError(f"it has no {manifest.NAME}: it is not a backup, or an incomplete one")
        self.manifest = manifest.read((root / manifest.NAME).read_bytes())

    def open(self, path: str) -> IO[bytes]:
        """Open a file of the backup. Raises NoBackupError if it is missing."""
        try:
            return (self._root / path).open("rb")
        except FileNotFoundError as error:
            raise NoBackupError(f"{path} is missing; nothing was restored") from error


class _Tar:
    """A backup that is a tar. It reads files as streams, and never uses the archive's names or modes to write."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self._members = {member.name: member for member in archive if member.isreg()}
        last = self._members.get(manifest.NAME)
        raw = archive.extractfile(last) if last and last.size <= manifest.MOST_BYTES else None
        if raw is None:
            raise NoBackupError(f"it has no {manifest.NAME}: it is not a backup, or an incomplete one")
        self.manifest = manifest.read(raw.read())

    def open(self, path: str) -> IO[bytes]:
        """Open a file of the backup. Raises NoBackupError if it is missing."""
        member = self._members.get(path)
        opened = self._archive.extractfile(member) if member else None
        if opened is None:
            raise NoBackupError(f"{path} is missing; nothing was restored")
        return opened
