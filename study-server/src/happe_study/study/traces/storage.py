# SPDX-License-Identifier: GPL-2.0-or-later
"""Stored parts of power traces: one interface over a folder (here) and an S3 bucket (bucket.py); docs/decisions.md.

A stored part is sealed, and counts as a part of its trace only while a row of the database names it. Its name consists
of a parsed UUID, a number, and the digest of its sealed bytes, which differ for every upload. So no upload replaces
another's part, and a client chooses no file's name.
"""

import errno
import re
import secrets
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from happe_cli.disk import sync_file, sync_folder
from happe_study.base.problems import storage_full

SUFFIX = ".sealed"
NAME = re.compile(rf"([0-9]{{5,9}})-[0-9a-f]{{64}}{re.escape(SUFFIX)}")
UNFINISHED = ".upload"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
LEFT_ALONE_SECONDS = 60  # a younger file may belong to an upload that is not done yet


class Part(NamedTuple):
    """A part, as its row names it. `sha256` is the digest of the sealed bytes."""

    trace: UUID
    number: int
    sha256: str

    @property
    def name(self) -> str:
        """The part's name within its trace."""
        return f"{self.number:05d}-{self.sha256}{SUFFIX}"


@dataclass(frozen=True)
class Stored:
    """A part in the store, whether or not a row names it. `key` is its name in the store."""

    key: str
    trace: UUID
    number: int
    bytes: int
    changed: float  # seconds since 1970

    @property
    def is_old(self) -> bool:
        """Whether it is too old for an upload that will still write its row."""
        return time.time() - self.changed > LEFT_ALONE_SECONDS


class Storage(ABC):
    """The store of all traces. Every method raises AwayError if the store does not answer, and OSError as files do.

    Methods that change a bucket raise NotOwnerError on a server whose database does not own it.
    """

    def __init__(self, root: Path) -> None:
        """Use the folder `root` of this server's disk, which need not exist yet."""
        self.root = root

    @abstractmethod
    def key(self, part: Part) -> str:
        """A part's name in the store."""

    @abstractmethod
    def put(self, part: Part, content: bytes) -> None:
        """Store the sealed bytes of a part, all or nothing. When this returns, they outlive a power cut."""

    @abstractmethod
    def read(self, part: Part) -> bytes:
        """The sealed bytes of a part. Raises FileNotFoundError."""

    @abstractmethod
    def drop(self, key: str) -> None:
        """Remove a part if it exists. The caller has the trace's lock, and no row names the part."""

    @abstractmethod
    def remove(self, trace: UUID) -> None:
        """Remove all files of a trace that the database no longer has."""

    @abstractmethod
    def traces(self) -> Iterator[UUID]:
        """The traces that have files in the store. It ignores other files."""

    @abstractmethod
    def stored(self, trace: UUID) -> list[Stored]:
        """A trace's parts, by their keys."""

    def require_owner(self) -> None:  # noqa: B027 - only a bucket has an owner
        """Raise NotOwnerError if this server may not change the store. A folder belongs to its server's data."""

    def free(self) -> int:
        """The free bytes on this server's own disk."""
        self.root.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(self.root).free

    def unfinished(self) -> list[Path]:
        """The unfinished files of uploads that go on or have died, on this server's disk."""
        return sorted(self.root.rglob(f"*{UNFINISHED}"))

    def sweep(self, *, older_than: float = LEFT_ALONE_SECONDS) -> int:
        """Remove unfinished files that are older than `older_than` seconds. Returns how many it removed."""
        removed = 0
        for path in self.unfinished():
            with suppress(FileNotFoundError):
                if time.time() - path.stat().st_mtime >= older_than:
                    path.unlink()
                    removed += 1
        return removed


class Folder(Storage):
    """A folder with the files `UU/UUID/NNNNN-SHA256.sealed`."""

    def folder(self, trace: UUID) -> Path:
        """The folder of a trace's parts."""
        return self.root / str(trace)[:2] / str(trace)

    def path(self, part: Part) -> Path:
        """The path of a part."""
        return self.folder(part.trace) / part.name

    def key(self, part: Part) -> str:
        """The part's path in the folder."""
        return str(self.path(part).relative_to(self.root))

    def put(self, part: Part, content: bytes) -> None:
        """Write the file under a temporary name, sync it, rename it, and sync the folders. Problem 507: no room."""
        folder = self.folder(part.trace)
        unfinished = folder / f"{part.number:05d}-{secrets.token_hex(8)}{UNFINISHED}"
        with full_is_a_problem():
            folder.mkdir(parents=True, exist_ok=True)
            try:
                with unfinished.open("xb") as file:
                    file.write(content)
                    sync_file(file)
                unfinished.replace(self.path(part))
            finally:
                unfinished.unlink(missing_ok=True)
            for each in (folder, folder.parent, self.root):
                sync_folder(each)

    def read(self, part: Part) -> bytes:
        """Read the part's file."""
        return self.path(part).read_bytes()

    def drop(self, key: str) -> None:
        """Remove the part's file."""
        (self.root / key).unlink(missing_ok=True)

    def remove(self, trace: UUID) -> None:
        """Remove the trace's folder."""
        if self.folder(trace).exists():
            shutil.rmtree(self.folder(trace))

    def traces(self) -> Iterator[UUID]:
        """The traces that have a folder, even an empty one."""
        for folder in sorted(self.root.glob("??/*")):
            with suppress(ValueError):
                if self.folder(trace := UUID(folder.name)) == folder:
                    yield trace

    def stored(self, trace: UUID) -> list[Stored]:
        """The trace's files."""
        found = []
        for path in sorted(self.folder(trace).glob(f"*{SUFFIX}")):
            with suppress(FileNotFoundError):  # somebody removed it meanwhile
                facts, key = path.stat(), str(path.relative_to(self.root))
                if matched := NAME.fullmatch(path.name):
                    found.append(Stored(key, trace, int(matched[1]), facts.st_size, facts.st_ctime))
        return found


@contextmanager
def full_is_a_problem() -> Iterator[None]:
    """Turn an error of a full disk into Problem 507."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise storage_full() from error
        raise
