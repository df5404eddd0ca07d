# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that appear completely or not at all, even after a power cut."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from happe_cli.disk import UNFINISHED, sync_file, sync_folder, whole
from happe_contract.strict_json import Json

PIECE = 16 * 1024  # bytes; a write of megabytes at once takes the kernel several times as long
ZEROS = bytes(PIECE)


def write_whole(path: Path, data: bytes | memoryview) -> None:
    """Make or replace a file: a temporary name, fsync, rename, fsync of the folder. Raises OSError.

    Pieces of zeros, which pad a part, become holes: they take no room on the disk and no time.
    """
    with whole(path) as file:
        for at in range(0, len(data), PIECE):
            piece = data[at : at + PIECE]
            if piece[0] == 0 and bytes(piece) == ZEROS[: len(piece)]:
                file.seek(len(piece), os.SEEK_CUR)
            else:
                file.write(piece)
        file.truncate()
    sync_folder(path.parent)


def append_line(path: Path, document: Json) -> None:
    """Append a line to a JSON Lines file, without a line that a crash cut off, and sync it. Raises OSError."""
    with path.open("ab+") as file:
        file.seek(0)
        is_new = file.truncate(file.read().rfind(b"\n") + 1) == 0
        file.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")
        sync_file(file)
    if is_new:
        sync_folder(path.parent)


def remove_temporary(folder: Path) -> None:
    """Remove the unfinished files of a killed program."""
    for path in folder.glob(f".*{UNFINISHED}"):
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
