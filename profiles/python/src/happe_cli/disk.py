# SPDX-License-Identifier: GPL-2.0-or-later
"""Writing that outlives a power cut: what a program says is there is on the disk. All of it raises OSError."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNFINISHED = ".unfinished"  # how the name of what is not whole yet ends


@contextmanager
def whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which has its name when all of it is on the disk; the name is by `sync_folder`."""
    unfinished = path.with_name(f".{path.name}{UNFINISHED}")
    try:
        with unfinished.open("wb") as file:
            yield file
            sync_file(file)
        unfinished.rename(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_all(file: IO[bytes], piece: bytes) -> None:
    """Write to a file without a buffer, which may take a part at a time."""
    left = memoryview(piece)
    while left:
        left = left[file.write(left) :]


def sync_file(file: IO[Any]) -> None:
    """Let what was written to a file reach the disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Let names in a folder reach the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
