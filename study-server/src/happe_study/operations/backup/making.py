# SPDX-License-Identifier: GPL-2.0-or-later
"""Making a backup: database first, then the files that it names, then the manifest, then the name."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from happe_cli.disk import UNFINISHED, sync_file, sync_folder, write_all
from happe_study.base import fingerprints
from happe_study.base.clock import now_us
from happe_study.base.config import SECRET_NAMES
from happe_study.base.version import VERSION
from happe_study.evidence.traces.storage import Folder, Part
from happe_study.evidence.traces.stores import storage_of
from happe_study.operations.backup import manifest, snapshots

if TYPE_CHECKING:
    from collections.abc import Callable

    from happe_study.base.config import Config, Secrets
    from happe_study.base.database import Database
    from happe_study.evidence.traces.storage import Storage

PIECE = 1 << 20
TAR = ".tar"


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int = ..., /) -> bytes:
        """The next bytes."""
        ...


class Target(Protocol):
    """The place of a new backup."""

    def add(self, path: str, source: Readable, size: int) -> None:
        """Add a file of this size."""

    def finish(self) -> None:
        """Wait until everything is on the disk."""

    def close(self) -> None:
        """Close open files of a finished or unfinished backup."""


@dataclass(frozen=True)
class Source:
    """The server to back up."""

    config: Config
    secrets: Secrets
    database: Database


def make(
    source: Source,
    place: Path,
    *,
    with_secrets: bool = False,
    progress: Callable[[int, int], None] = lambda _d, _t: None,
) -> manifest.Manifest:
    """Back up a server, which may be running, to a new folder, or to a new file if `place` ends with .tar.

    `progress` gets the bytes done and all bytes. Raises OSError, SQLAlchemyError, ProgramError; then no file remains.
    """
    if place.exists():
        raise FileExistsError(errno.EEXIST, "exists already; name another", place)
    if not place.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; make it first", place.parent)
    work = Path(tempfile.mkdtemp(prefix=f".{place.name}-", suffix=UNFINISHED, dir=place.parent))
    try:
        with closing(_Tar(work / "backup") if place.suffix == TAR else _Folder(work / "backup")) as target:
            written = _fill(source, work, target, progress, with_secrets=with_secrets)
        (work / "backup").rename(place)
        sync_folder(place.parent)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return written


def _fill(
    source: Source,
    work: Path,
    target: Target,
    progress: Callable[[int, int], None],
    *,
    with_secrets: bool,
) -> manifest.Manifest:
    snapshot = snapshots.take(source.database, work)
    copied = 0 if source.config.s3 else sum(part.bytes for part in snapshot.parts)
    total = snapshot.file.stat().st_size + copied
    writer = _Writer(target, total, progress)
    writer.add_file(snapshot.file.name, snapshot.file)
    snapshot.file.unlink()
    storage = storage_of(source.config, source.database)
    if isinstance(storage, Folder):
        for part in snapshot.parts:
            file = storage.path(Part(part.trace, part.number, part.sha256))
            writer.add_part(f"traces/{file.relative_to(storage.root)}", file, part)
    else:
        writer.name_parts(storage, snapshot.parts)
    for name in SECRET_NAMES if with_secrets else ():
        writer.add_file(f"secrets/{name}.key", source.config.secrets_folder / f"{name}.key")
    made = _manifest(source, snapshot, writer)
    raw = made.written()
    target.add(manifest.NAME, io.BytesIO(raw), len(raw))
    target.finish()
    return made


def _manifest(source: Source, snapshot: snapshots.Snapshot, writer: _Writer) -> manifest.Manifest:
    return manifest.Manifest(
        note=source.config.s3.not_in_backups if source.config.s3 else "",
        made_us=now_us(),
        program=VERSION,
        database=snapshot.kind,
        database_version=snapshot.version,
        revision=snapshot.revision,
        audit=snapshot.head,
        fingerprints=fingerprints.of(source.secrets),
        files=writer.entries,
        missing=writer.missing,
        objects=writer.objects,
    )


class _Writer:
    """Adds files to a target and keeps the list of them."""

    def __init__(self, target: Target, total: int, progress: Callable[[int, int], None]) -> None:
        self.entries: list[manifest.Entry] = []
        self.missing: list[str] = []
        self.objects: list[manifest.Object] = []
        self._target = target
        self._total = total
        self._progress = progress
        self._done = 0

    def add_file(self, path: str, file: Path) -> None:
        """Add a file."""
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            reader = _Hashing(opened)
            self._target.add(path, reader, size)
        self.entries.append(manifest.Entry(path=path, size=size, sha256=reader.digest.hexdigest()))
        self._done += size
        self._progress(self._done, self._total)

    def add_part(self, path: str, file: Path, part: snapshots.Part) -> None:
        """Add a trace's part, or note that it differs from the database's entry or is missing."""
        try:
            whole = file.stat().st_size == part.bytes
        except FileNotFoundError:
            whole = False
        if whole:
            self.add_file(path, file)
        if not whole or self.entries[-1].sha256 != part.sha256:
            self.missing.append(path)

    def name_parts(self, storage: Storage, parts: list[snapshots.Part]) -> None:
        """List the parts that are in a bucket, and those that the bucket lacks or has with another size."""
        there = {each.key: each.bytes for trace in storage.traces() for each in storage.stored(trace)}
        for part in parts:
            named = Part(part.trace, part.number, part.sha256)
            key = storage.key(named)
            if there.get(key) == part.bytes:
                self.objects.append(manifest.Object(key=key, size=part.bytes, sha256=part.sha256))
            else:
                self.missing.append(Folder(Path("traces")).path(named).as_posix())


class _Hashing:
    """Reads a file and keeps the digest of what it read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = PIECE, /) -> bytes:
        """The next bytes."""
        piece = self._file.read(size)
        self.digest.update(piece)
        return piece


class _Folder:
    """A backup that is a folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        root.mkdir(mode=0o700)

    def add(self, path: str, source: Readable, size: int) -> None:
        """Add a file, and wait until it is on the disk."""
        target = self._root / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb", buffering=0) as file:
            while piece := source.read(min(PIECE, size)):
                write_all(file, piece)
                size -= len(piece)
            sync_file(file)
        if size:
            raise OSError(errno.EIO, "became shorter while it was copied", path)

    def finish(self) -> None:
        """Wait until every folder is on the disk."""
        for folder, _folders, _files in os.walk(self._root, topdown=False):
            sync_folder(Path(folder))

    def close(self) -> None:
        """Do nothing: no file is open."""


class _Tar:
    """A backup that is a tar."""

    def __init__(self, file: Path) -> None:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(descriptor, "wb", buffering=0)
        self._tar = tarfile.open(  # noqa: SIM115 - until it is finished
            fileobj=self._file, mode="w", format=tarfile.PAX_FORMAT
        )

    def add(self, path: str, source: Readable, size: int) -> None:
        """Add a file."""
        member = tarfile.TarInfo(path)
        member.size, member.mode, member.mtime = size, 0o600, now_us() // 1_000_000
        self._tar.addfile(member, source)

    def finish(self) -> None:
        """End the archive."""
        self._tar.close()
        sync_file(self._file)

    def close(self) -> None:
        """Close the file. An unfinished archive is incomplete."""
        self._file.close()
