# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts of power traces on disk: `traces/UU/UUID/NNNNN.sealed`, each made whole or not at all.

A file is a part only while a row of the database says so. Only the holder of the lock of the trace's row may put a
file into its place or remove one that no row names. What a client sends decides no path: UUID is the text of
a UUID that was parsed, NNNNN a number.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import IO, TYPE_CHECKING
from uuid import UUID

from happe_cli.disk import sync_file, sync_folder
from happe_study.base.problems import Problem, storage_full, unprocessable
from happe_study.evidence.traces.parts import TAIL_BYTES, parquet_fault
from happe_study.evidence.traces.sealed_parts import sealed_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from happe_study.evidence.traces.sealed_parts import Seal, Writing

PIECE = 1 << 20
SUFFIX = ".sealed"
UNFINISHED = ".upload"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
LEFT_ALONE_SECONDS = 60  # a file this young may be between its making and its lock


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


class Storage:
    """The folder of all traces."""

    def __init__(self, root: Path) -> None:
        """Use a folder that need not be there yet."""
        self.root = root

    def free(self) -> int:
        """How many bytes the disk has room for."""
        self.root.mkdir(parents=True, exist_ok=True)
        return shutil.disk_usage(self.root).free

    def folder(self, trace: UUID) -> Path:
        """Where a trace's parts are."""
        return self.root / str(trace)[:2] / str(trace)

    def part(self, trace: UUID, number: int) -> Path:
        """Where a part is."""
        return self.folder(trace) / f"{number:05d}{SUFFIX}"

    @contextmanager
    def receiving(
        self, trace: UUID, announced: Announced, body: IO[bytes], seal: Seal, room: int
    ) -> Iterator[Received]:
        """The part in a request's body, checked and sealed, under a name of its own. It is gone after the block.

        Nothing of it is on the disk but sealed; its file is padded to a multiple of `room`.

        Raises Problem: 400 it ends early or is not what was announced, 422 it is no Parquet file, 507 no room.
        """
        with _full_is_a_problem():
            folder = self.folder(trace)
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{announced.number:05d}-{secrets.token_hex(8)}{UNFINISHED}"
            file = path.open("xb", buffering=0)
        try:
            with file:
                fcntl.flock(file, fcntl.LOCK_EX)  # so `sweep` sees that somebody writes it
                with _full_is_a_problem():
                    os.posix_fallocate(file.fileno(), 0, sealed_bytes(announced.bytes, room))
                    writing = seal.writing(file, announced.bytes, room)
                _copy(body, writing, announced)
                with _full_is_a_problem():
                    sync_file(file)
                yield Received(path, writing.bytes, writing.sha256)
        finally:
            path.unlink(missing_ok=True)

    def keep(self, unfinished: Path, trace: UUID, number: int) -> None:
        """Put a received part into its place, for good. The caller has the trace's lock, and no row names the part."""
        with _full_is_a_problem():
            unfinished.replace(self.part(trace, number))
            for folder in (self.folder(trace), self.folder(trace).parent, self.root):
                sync_folder(folder)

    def drop(self, trace: UUID, number: int) -> None:
        """Remove a part's file. The caller holds the trace's lock, and no row names the part."""
        self.part(trace, number).unlink(missing_ok=True)

    def remove(self, trace: UUID) -> None:
        """Remove everything of a trace that the database does not know any more."""
        shutil.rmtree(self.folder(trace), ignore_errors=True)

    def traces(self) -> Iterator[UUID]:
        """The traces that have a folder. Folders that we did not make are skipped."""
        for folder in sorted(self.root.glob("??/*")):
            with suppress(ValueError):
                if self.folder(trace := UUID(folder.name)) == folder:
                    yield trace

    def parts(self, trace: UUID) -> list[int]:
        """The numbers of a trace's finished files."""
        return sorted(int(path.stem) for path in self.folder(trace).glob(f"*{SUFFIX}") if path.stem.isdecimal())

    def sweep(self, trace: UUID, *, older_than: float = LEFT_ALONE_SECONDS) -> int:
        """Remove what uploads that died left of a trace, if it is older than some seconds; how many files."""
        return sum(_removed(path, older_than) for path in self.folder(trace).glob(f"*{UNFINISHED}"))


def sha256_of(path: Path) -> str:
    """A file's SHA-256 in hexadecimal. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy(body: IO[bytes], writing: Writing, announced: Announced) -> None:
    digest, left, first, last = hashlib.sha256(), announced.bytes, b"", b""
    while left:
        piece = _read(body, min(left, PIECE))
        digest.update(piece)
        with _full_is_a_problem():
            writing.add(piece)
        first = first or piece[:TAIL_BYTES]
        last = (last + piece[-TAIL_BYTES:])[-TAIL_BYTES:]
        left -= len(piece)
    if digest.hexdigest() != announced.sha256:
        raise Problem(HTTPStatus.BAD_REQUEST, "digest", "The body does not match its Content-Digest. Send it again.")
    if fault := parquet_fault(first, last, announced.bytes):
        raise unprocessable(f"The part {fault}.")
    with _full_is_a_problem():
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


@contextmanager
def _full_is_a_problem() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise storage_full() from error
        raise
