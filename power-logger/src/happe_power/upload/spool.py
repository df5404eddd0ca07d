# SPDX-License-Identifier: GPL-2.0-or-later
"""The spool: a folder STUDY/UUID for each trace on this host."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from happe_power.recording.files import locked
from happe_power.upload.outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK = ".upload.lock"


class BusyError(Exception):
    """Another uploader is at work on this spool."""


def folders(spool: Path) -> list[Path]:
    """The traces' folders, by name."""
    return sorted(path.parent for path in spool.glob("*/*/header.json"))


def outbox(folder: Path) -> Outbox | None:
    """The trace in a folder; None if the folder can't be read as one (`happe-power verify` says why)."""
    try:
        return Outbox(folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def only_uploader(spool: Path) -> Iterator[None]:
    """Hold the lock that allows one uploader on a spool. Raises BusyError, OSError."""
    spool.mkdir(parents=True, exist_ok=True)
    with locked(spool / LOCK) as free:
        if not free:
            raise BusyError(f"{spool}: another uploader is at work on it")
        yield
