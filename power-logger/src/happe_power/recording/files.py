# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that appear completely or not at all, even after a power cut."""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from happe_cli.disk import sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from io import FileIO
    from pathlib import Path

    from happe_contract.strict_json import Json

TEMPORARY = ".tmp"
PIECE = 16 * 1024  # bytes; a write of megabytes at once takes the kernel several times as long
ZEROS = bytes(PIECE)


def write_whole(path: Path, data: bytes | memoryview) -> None:
    """Make or replace a file; see write_all."""
    write_all({path: data})


def write_all(files: Mapping[Path, bytes | memoryview]) -> None:
    """Make or replace files of one folder: temporary names, fsync, rename, fsync of the folder.

    Raises OSError, and then leaves no temporary file.
    """
    temporary = {path: path.with_name(f".{path.name}{TEMPORARY}") for path in files}
    try:
        for path, data in files.items():
            with temporary[path].open("wb", buffering=0) as file:
                _write(file, memoryview(data))
                os.fsync(file.fileno())
        for path, made in temporary.items():
            made.rename(path)
    except OSError:
        for made in temporary.values():
            _forget(made)
        raise
    sync_folder(next(iter(files)).parent)


def append_line(path: Path, document: Json) -> None:
    """Append a line to a JSON Lines file, without a line that a crash cut off, and sync it. Raises OSError."""
    with path.open("ab+") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def remove_temporary(folder: Path) -> None:
    """Remove the unfinished files of a killed program."""
    for path in folder.glob(f".*{TEMPORARY}"):
        path.unlink()


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock on a file during the body; False: another process holds it. The kernel frees a dead owner's lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        yield free
    finally:
        os.close(descriptor)


def _write(file: FileIO, data: memoryview) -> None:
    """Write bytes. Pieces of zeros, which pad a part, become holes: they take no room on the disk and no time."""
    written = 0
    while written < len(data):
        piece = data[written : written + PIECE]
        if piece[0] == 0 and bytes(piece) == ZEROS:
            written = file.seek(len(piece), os.SEEK_CUR)
        else:
            written += file.write(piece)
    file.truncate(written)


def _forget(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # the disk is read-only, as the first error says
        return
