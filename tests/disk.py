# SPDX-License-Identifier: GPL-2.0-or-later
"""What reaches the disk in a test's folder, in which order, and what a loss of power would lose."""

import errno
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

Number = tuple[int, int]


class Disk(ExitStack):
    """Notes each sync, rename and removal in a folder and below while it is entered, and what its user adds.

    What was there before is on the disk. Files of SQLite, which syncs by itself, and of locks do not count.
    """

    def __init__(self, folder: Path, *, full_at: float = float("inf")) -> None:
        """Let the call number `full_at` from 0 and all later ones fail, as on a full disk."""
        super().__init__()
        self.calls: list[str] = []
        self.was_full = False
        self._folder, self._left = folder, full_at
        self._too_early: list[str] = []
        self._content: dict[Number, bytes] = {}  # of each file, as it is on the disk
        self._names: dict[Number, dict[str, Number]] = {}  # in each folder, as they are on the disk
        for path in (folder, *folder.rglob("*")):
            self._reached(path)

    def __enter__(self) -> Self:
        """Begin."""
        for name in ("fsync", "fdatasync", "rename", "replace"):
            self.enter_context(patch.object(os, name, self._noting(name)))
        for name in ("unlink", "remove"):
            self.enter_context(patch.object(os, name, self._removing(getattr(os, name))))
        return self

    def note(self, call: str) -> None:
        """Add a call, which may be one of the database. Raises OSError when the disk is full."""
        self.was_full = self._left <= 0
        if self.was_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._left -= 1
        self.calls.append(call)

    def commit(self) -> None:
        """Note that a database commits. What its rows name must be on the disk by then."""
        self._too_early += [f"{each}, when the database commits" for each in self.lost()]
        self.note("commit")

    def lost(self) -> list[str]:
        """What a loss of power would lose now, and the files that got their name before their content was synced."""
        lost = self._too_early.copy()
        for path in sorted(self._folder.rglob("*")):
            if not self._counts(path):
                continue
            if self._names.get(_number(path.parent), {}).get(path.name) != _number(path):
                lost.append(f"name of {path.name}")
            if not self._has_content_of(path):
                lost.append(f"content of {path.name}")
        return lost

    def _counts(self, path: Path) -> bool:
        return ".db" not in path.name and not path.name.endswith("lock")

    def _has_content_of(self, path: Path) -> bool:
        return not (path.is_file() and self._counts(path)) or self._content.get(_number(path), b"") == path.read_bytes()

    def _reached(self, path: Path) -> None:
        if path.is_dir():
            self._names[_number(path)] = {each.name: _number(each) for each in path.iterdir()}
        elif path.is_file():
            self._content[_number(path)] = path.read_bytes()

    def _noting(self, name: str) -> Callable[..., None]:
        call = getattr(os, name)

        def noting(file: int | Path, *more: Path) -> None:
            path = Path(f"/proc/self/fd/{file}").readlink() if isinstance(file, int) else Path(file)
            if self._folder not in (path, *path.parents):
                call(file, *more)
                return
            self.note(f"{name} {path.name}")
            if more:
                inside = (path, *path.rglob("*")) if path.is_dir() else (path,)
                early = [each.name for each in inside if not self._has_content_of(each)]
                self._too_early += [f"content of {each} before its name" for each in early]
            call(file, *more)
            if not more:
                self._reached(path)

        return noting

    def _removing(self, call: Callable[..., None]) -> Callable[..., None]:
        def removing(path: Path, **more: Any) -> None:  # noqa: ANN401 - as os has it
            with suppress(FileNotFoundError):
                facts = os.lstat(path, **more)
                self._content.pop((facts.st_dev, facts.st_ino), None)  # the next file may get this number
                if not more and self._folder in Path(path).parents:
                    self.calls.append(f"unlink {Path(path).name}")
            call(path, **more)

        return removing


def on_full_disks(folder: Path, work: Callable[[Disk], object]) -> Iterator[None]:
    """Do the work on a disk that is full from its first call on, from its second, and so on until all succeed.

    Yields after each failure, so that the caller looks at what is left. The work catches its errors.
    """
    for call in itertools.count():
        with Disk(folder, full_at=call) as disk:
            work(disk)
        if not disk.was_full:
            return
        yield


def _number(path: Path) -> Number:
    facts = path.lstat()
    return facts.st_dev, facts.st_ino
