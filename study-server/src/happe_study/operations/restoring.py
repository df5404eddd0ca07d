# SPDX-License-Identifier: GPL-2.0-or-later
"""Restoring a backup into an empty place. It verifies all files before it moves the first to its final place."""

import errno
import hashlib
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from uuid import UUID

from sqlalchemy import inspect

from happe_cli.disk import sync_file, sync_folder
from happe_study.base import fingerprints
from happe_study.base.config import Config, ConfigError, load_secrets
from happe_study.base.database import Database
from happe_study.model.audit.verify import Head, Report, verify_log
from happe_study.operations import migrations, postgresql
from happe_study.operations.backup import DATABASES, Entry, Manifest, NoBackupError, manifest_of
from happe_study.study.traces.storage import Part
from happe_study.study.traces.stores import storage_of

PIECE = 1 << 20
STAGE = ".restoring"
MAY_BE_THERE = frozenset({"secrets", "lost+found", STAGE})


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


def restore(config: Config, place: Path, progress: Callable[[int, int], None] = lambda _d, _t: None) -> Restored:
    """Restore a backup to the places in a configuration, and verify the audit log.

    Raises NoBackupError: it is no complete backup, or does not fit the configuration; OSError: a place is not empty, a
    file can't be written, or the bucket does not answer; ConfigError; SQLAlchemyError; ProgramError. After an error,
    the next attempt starts from the beginning.
    """
    with _opened(place) as archive:
        found, database = manifest_of(archive), Database(config.url)
        try:
            _require_fit(found, config, database)
            stage = config.data / STAGE
            shutil.rmtree(stage, ignore_errors=True)
            stage.mkdir(mode=0o700, parents=True)
            _stage(archive, found, stage, progress)
            lost = list(_lost(found, config, database, progress))
            secrets = _put_in_place(found, stage, config, database)
            shutil.rmtree(stage)
            return Restored(found, _verified(found, database), secrets, lost)
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


def _stage(archive: tarfile.TarFile, found: Manifest, stage: Path, progress: Callable[[int, int], None]) -> None:
    """Copy every file to the folder `stage`, and verify it. It never uses the archive's names or modes to write."""
    members = {member.name: member for member in archive.getmembers() if member.isreg()}
    done = 0
    for entry in found.files:
        target = stage / entry.path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        opened = archive.extractfile(members[entry.path]) if entry.path in members else None
        if opened is None:
            raise NoBackupError(f"{entry.path} is missing; nothing was restored")
        _copy(opened, target, entry)
        done += entry.size
        progress(done, found.size)
    for folder, _folders, _files in os.walk(stage, topdown=False):
        sync_folder(Path(folder))


def _copy(source: IO[bytes], target: Path, entry: Entry) -> None:
    digest, size = hashlib.sha256(), 0
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        while piece := source.read(PIECE):
            file.write(piece)
            digest.update(piece)
            size += len(piece)
        sync_file(file)
    if (size, digest.hexdigest()) != (entry.size, entry.sha256):
        raise NoBackupError(f"{entry.path} differs from the manifest; nothing was restored")


def _put_in_place(found: Manifest, stage: Path, config: Config, database: Database) -> str:
    """Move the files to their places. SQLite's file comes last: without a database, the server can't start."""
    secrets = _put_secrets(found, stage, config)
    if not database.is_sqlite:
        postgresql.restore(database.engine, stage / DATABASES["postgresql"])
    traces = stage / "traces"
    traces.mkdir(mode=0o700, exist_ok=True)
    traces.rename(config.traces_folder)
    if database.is_sqlite:
        target = Path(str(database.url.database))
        (stage / DATABASES["sqlite"]).rename(target)
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
    for path in config.secrets_folder.iterdir():
        with path.open("rb") as file:
            sync_file(file)
    for folder in (config.secrets_folder, config.secrets_folder.parent):
        sync_folder(folder)
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
def _opened(place: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(place, "r:") as archive:
            yield archive
    except tarfile.ReadError as error:
        raise NoBackupError(f"the archive is incomplete: {error}; nothing was restored") from error
