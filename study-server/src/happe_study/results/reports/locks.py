# SPDX-License-Identifier: GPL-2.0-or-later
"""One report of a study at a time: whoever makes one holds its study's lock. The kernel lets go of a dead one's."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TRIES = 20  # somebody may be looking whether it is held
PAUSE_S = 0.01
FOLDER = "reports"
WORK = "-in-work"


def folder(data: Path) -> Path:
    """Where reports are made."""
    made = data / FOLDER
    made.mkdir(mode=0o700, exist_ok=True)
    return made


def work(data: Path, study_id: int) -> Path:
    """Where the report of a study is made by whoever holds its lock: everybody's data, in clear."""
    return folder(data) / f"{study_id}{WORK}"


@contextmanager
def taken(data: Path, study_id: int) -> Iterator[int | None]:
    """A descriptor that holds the study's lock, as does every process that it is handed to; None: it is held."""
    descriptor = _opened(data, study_id)
    try:
        yield descriptor if _try(descriptor, fcntl.LOCK_EX, TRIES) else None
    finally:
        os.close(descriptor)


def is_held(data: Path, study_id: int) -> bool:
    """Whether somebody makes a report of the study now."""
    descriptor = _opened(data, study_id)
    try:
        return not _try(descriptor, fcntl.LOCK_SH, 1)
    finally:
        os.close(descriptor)


def _opened(data: Path, study_id: int) -> int:
    return os.open(folder(data) / f"{study_id}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def _try(descriptor: int, how: int, tries: int) -> bool:
    for last in range(tries - 1, -1, -1):
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if last:
                time.sleep(PAUSE_S)
        else:
            return True
    return False
