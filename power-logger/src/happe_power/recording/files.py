# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that are there whole or not at all, also after a power cut."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from happe_cli.disk import sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

TEMPORARY = ".tmp"
PIECE = 16 * 1024  # bytes; a write of megabytes at once takes the kernel several times as long


def write_whole(path: Path, data: bytes | memoryview) -> None:
    """Make or replace a file; see write_all."""
    write_all({path: data})


def write_all(files: Mapping[Path, bytes | memoryview]) -> None:
    """Make or replace files of one folder: temporary names, fsync, rename, fsync of the folder.

    Raises OSError, leaving nothing that is temporary.
    """
    temporary = {path: path.with_name(f".{path.name}{TEMPORARY}") for path in files}
    try:
        for path, data in files.items():
            with temporary[path].open("wb", buffering=0) as file:
                written = 0
                while written < len(data):
                    written += file.write(memoryview(data)[written : written + PIECE])
                os.fsync(file.fileno())
        for path, made in temporary.items():
            made.rename(path)
    except OSError:
        for made in temporary.values():
            _forget(made)
        raise
    sync_folder(next(iter(files)).parent)


def remove_temporary(folder: Path) -> None:
    """Remove what a program that was killed left half written."""
    for path in folder.glob(f".*{TEMPORARY}"):
        path.unlink()


@contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock on a file while the body runs; False: somebody else does. The kernel lets go of a dead owner's."""
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


def _forget(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:  # a read-only disk, which the first error has said
        return
