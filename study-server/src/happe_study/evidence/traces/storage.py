# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of power traces and their summaries: one interface over a folder and an S3 bucket (docs/adr/0060).

A part is sealed into a file of this server's own first. It is a part of its trace only while a row of the database says
so. Only the holder of the lock of the trace's row may say so, or remove a part that no row names. A client decides no
name: a trace's is the text of a UUID that was parsed, a part's a number and a digest of ours.
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
LEFT_ALONE_SECONDS = 60  # what is this young may be between its making and its lock or row


class Part(NamedTuple):
    """A part as its row names it. `sha256` is of the sealed file."""

    trace: UUID
    number: int
    sha256: str


@dataclass(frozen=True)
class Stored:
    """A finished part in the store, whether a row names it or not. `key` is its name there."""

    key: str
    trace: UUID
    number: int
    bytes: int
    changed: float  # seconds since 1970

    @property
    def is_old(self) -> bool:
        """Whether no upload can still be about to name it."""
        return time.time() - self.changed > LEFT_ALONE_SECONDS


@dataclass(frozen=True)
class Announced:
    """What a request says of the part that it carries."""

    number: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Received:
    """A part that has been sealed into a file, and what the file is by its bytes."""

    path: Path
    bytes: int
    sha256: str


class Storage(ABC):
    """Where all traces are. Every method raises AwayError if the store does not answer, and OSError as files do."""

    def __init__(self, root: Path) -> None:
        """Use a folder of this server's own, which need not be there yet, for what is not finished."""
        self.root = root

    @abstractmethod
    def key(self, part: Part) -> str:
        """A part's name in the store."""

    @abstractmethod
    def bring(self, part: Part, file: Path) -> None:
        """Do what takes long for a part in a file of `receiving`, before its row's transaction."""

    @abstractmethod
    def keep(self, part: Part, file: Path) -> None:
        """Let the part be there, for good. The caller has the trace's lock, no row names the part, and one will."""

    @abstractmethod
    def open(self, part: Part) -> IO[bytes]:
        """A part as it is stored. Raises FileNotFoundError."""

    @abstractmethod
    def drop(self, key: str) -> None:
        """Remove a part if it exists. The caller has the trace's lock, and no row names the part."""

    @abstractmethod
    def remove(self, trace: UUID) -> None:
        """Remove everything of a trace that the database does not know any more."""

    @abstractmethod
    def traces(self) -> Iterator[UUID]:
        """The traces of which the store has something. Foreign files are skipped."""

    @abstractmethod
    def stored(self, trace: UUID) -> list[Stored]:
        """A trace's finished parts, by their keys."""

    @abstractmethod
    def summary(self, part: Part) -> bytes:
        """What was computed from a part. Raises FileNotFoundError."""

    @abstractmethod
    def keep_summary(self, part: Part, content: bytes) -> None:
        """Keep what was computed from a part, instead of what was kept before."""

    @abstractmethod
    def staging(self, trace: UUID) -> Path:
        """The folder of this server's own for what of a trace is not finished."""

    def free(self) -> int:
        """How many bytes this server's own disk has room for."""
        self.root.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(self.root).free

    @contextmanager
    def receiving(
        self, trace: UUID, announced: Announced, body: IO[bytes], seal: Seal, room: int
    ) -> Iterator[Received]:
        """The part in a request's body, checked and sealed, under a name of its own. It is gone after the block.

        Nothing of it is on the disk but sealed; its file is padded to a multiple of `room`.

        Raises Problem: 400 it ends early or is not what was announced, 422 it is no Parquet file, 507 no room.
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
        """The files of uploads to this server that go on or have died."""
        return sorted(self.root.rglob(f"*{UNFINISHED}"))

    def sweep(self, *, older_than: float = LEFT_ALONE_SECONDS) -> int:
        """Remove what uploads to this server that died have left, if it is older than some seconds; how many files."""
        return sum(_removed(path, older_than) for path in self.unfinished())


def sha256_of(file: IO[bytes]) -> str:
    """The SHA-256 of what a file has, in hexadecimal. Raises OSError."""
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type] # IO is what it wants


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
    """Remove an unfinished file unless somebody writes it."""
    try:
        with path.open("rb") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime < older_than:
                return False
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    except (FileNotFoundError, BlockingIOError):
        return False
    return True
