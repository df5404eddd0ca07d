# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of power traces and their summaries: one interface over a folder and an S3 bucket (docs/decisions.md).

The server first seals a part into a local file. A stored file counts as a part of its trace only while a row of the
database names it. Only the holder of the lock on the trace's row may write such a row, or remove a file that no row
names. Clients choose no file names: a name consists of a parsed UUID, a number, and a digest that the server computed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, NamedTuple

from happe_cli.disk import sync_file
from happe_study.base.problems import Problem, storage_full, unprocessable
from happe_study.evidence.traces.parts import TAIL_BYTES, parquet_fault
from happe_study.evidence.traces.sealed_parts import sealed_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from uuid import UUID

    from happe_study.evidence.traces.sealed_parts import Seal, Writing

PIECE = 1 << 20
SUFFIX = ".sealed"
UNFINISHED = ".upload"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
LEFT_ALONE_SECONDS = 60  # a younger file may belong to an upload that has no lock or row yet


class Part(NamedTuple):
    """A part, as its row names it. `sha256` is the digest of the sealed file."""

    trace: UUID
    number: int
    sha256: str


@dataclass(frozen=True)
class Stored:
    """A finished part in the store, whether or not a row names it. `key` is its name in the store."""

    key: str
    trace: UUID
    number: int
    bytes: int
    changed: float  # seconds since 1970

    @property
    def is_old(self) -> bool:
        """Whether it is too old for an upload that will still write its row."""
        return time.time() - self.changed > LEFT_ALONE_SECONDS


@dataclass(frozen=True)
class Announced:
    """A part's number, size and SHA-256 according to the request's headers."""

    number: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Received:
    """A part sealed into a local file: the file's path, size and SHA-256."""

    path: Path
    bytes: int
    sha256: str


class Storage(ABC):
    """The store of all traces. Every method raises AwayError if the store does not answer, and OSError as files do.

    Methods that change a bucket raise NotOwnerError on a server whose database does not own it.
    """

    def __init__(self, root: Path) -> None:
        """Use the local folder `root`, which need not exist yet, for unfinished files."""
        self.root = root

    @abstractmethod
    def key(self, part: Part) -> str:
        """A part's name in the store."""

    @abstractmethod
    def bring(self, part: Part, file: Path) -> None:
        """Do the slow work for a part in a file of `receiving`, before the transaction that writes its row."""

    @abstractmethod
    def keep(self, part: Part, file: Path) -> None:
        """Make the part permanent. The caller has the trace's lock, and then writes the part's row, which is new."""

    @abstractmethod
    def open(self, part: Part) -> IO[bytes]:
        """Open a part's sealed file. Raises FileNotFoundError."""

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
        """A trace's finished parts, by their keys."""

    @abstractmethod
    def summary(self, part: Part) -> bytes:
        """A part's summary. Raises FileNotFoundError."""

    @abstractmethod
    def keep_summary(self, part: Part, content: bytes) -> None:
        """Store the summary of a part, in place of an older one."""

    @abstractmethod
    def staging(self, trace: UUID) -> Path:
        """The local folder for a trace's unfinished files."""

    def require_owner(self) -> None:  # noqa: B027 - only a bucket has an owner
        """Raise NotOwnerError if this server may not change the store. A folder belongs to its server's data."""

    def free(self) -> int:
        """The free bytes on this server's own disk."""
        self.root.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(self.root).free

    @contextmanager
    def receiving(
        self, trace: UUID, announced: Announced, body: IO[bytes], seal: Seal, room: int
    ) -> Iterator[Received]:
        """Check the part in a request's body, and seal it into a temporary file, which the block's end removes.

        The disk gets only sealed bytes. The file is padded to a multiple of `room`.

        Raises Problem 400: the part ends early or differs from what was announced; 422: no Parquet file; 507: no room.
        """
        with full_is_a_problem():
            folder = self.staging(trace)
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{announced.number:05d}-{secrets.token_hex(8)}{UNFINISHED}"
            file = path.open("xb", buffering=0)
        try:
            with file:
                fcntl.flock(file, fcntl.LOCK_EX)  # so `sweep` sees that somebody writes it
                with full_is_a_problem():
                    os.posix_fallocate(file.fileno(), 0, sealed_bytes(announced.bytes, room))
                    writing = seal.writing(file, announced.bytes, room)
                _copy(body, writing, announced)
                with full_is_a_problem():
                    sync_file(file)
                yield Received(path, writing.bytes, writing.sha256)
        finally:
            path.unlink(missing_ok=True)

    def unfinished(self) -> list[Path]:
        """The unfinished files of this server's uploads, whether they are in progress or have died."""
        return sorted(self.root.rglob(f"*{UNFINISHED}"))

    def sweep(self, *, older_than: float = LEFT_ALONE_SECONDS) -> int:
        """Remove files of died uploads that are older than `older_than` seconds. Returns how many it removed."""
        return sum(_removed(path, older_than) for path in self.unfinished())


def sha256_of(file: IO[bytes]) -> str:
    """The SHA-256 of a file's content, in hexadecimal. Raises OSError."""
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type] # it accepts any binary IO


@contextmanager
def full_is_a_problem() -> Iterator[None]:
    """Turn an error of a full disk into Problem 507."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise storage_full() from error
        raise


def _copy(body: IO[bytes], writing: Writing, announced: Announced) -> None:
    digest, left, first, last = hashlib.sha256(), announced.bytes, b"", b""
    while left:
        piece = _read(body, min(left, PIECE))
        digest.update(piece)
        with full_is_a_problem():
            writing.add(piece)
        first = first or piece[:TAIL_BYTES]
        last = (last + piece[-TAIL_BYTES:])[-TAIL_BYTES:]
        left -= len(piece)
    if digest.hexdigest() != announced.sha256:
        raise Problem(HTTPStatus.BAD_REQUEST, "digest", "The body does not match its Content-Digest. Send it again.")
    if fault := parquet_fault(first, last, announced.bytes):
        raise unprocessable(f"The part {fault}.")
    with full_is_a_problem():
        writing.end()


def _read(body: IO[bytes], most: int) -> bytes:
    try:
        piece = body.read(most)
    except OSError:
        piece = b""
    if not piece:
        raise Problem(
            HTTPStatus.BAD_REQUEST, "truncated", "The body is shorter than its Content-Length. Send it again."
        )
    return piece


def _removed(path: Path, older_than: float) -> bool:
    """Remove an unfinished file if it is old enough and no upload is writing it. Returns whether it did."""
    try:
        with path.open("rb") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime < older_than:
                return False
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    except (FileNotFoundError, BlockingIOError):
        return False
    return True
