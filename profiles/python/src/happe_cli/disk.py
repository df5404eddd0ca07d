# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes files that survive a power cut. Every function may raise OSError."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

UNFINISHED = ".unfinished"  # the suffix of a file that is not complete yet


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that gets its name once it is on the disk. `sync_folder` makes that name durable."""
    unfinished = path.with_name(f".{path.name}{UNFINISHED}")
    try:
        with unfinished.open("wb") as file:
            yield file
            sync_file(file)
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


def sync_file(file: IO[Any]) -> None:
    """Sync a file's content to the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Sync a folder's names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
