# SPDX-License-Identifier: GPL-2.0-or-later
"""The store that is a folder: `traces/UU/UUID/NNNNN.sealed`, each made whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from typing import IO, TYPE_CHECKING
from uuid import UUID

from happe_cli.disk import sync_folder
from happe_study.evidence.traces.storage import SUFFIX, UNFINISHED, Part, Storage, Stored, full_is_a_problem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUMMARY = ".watts"


class Folder(Storage):
    """The folder of all traces. Unfinished parts are beside finished ones."""

    def folder(self, trace: UUID) -> Path:
        """Where a trace's parts are."""
        return self.root / str(trace)[:2] / str(trace)

    staging = folder

    def part(self, trace: UUID, number: int) -> Path:
        """Where a part is."""
        return self.folder(trace) / f"{number:05d}{SUFFIX}"

    def key(self, part: Part) -> str:
        """Its path in the folder, which does not have its digest: another one may take its place."""
        return str(self.part(part.trace, part.number).relative_to(self.root))

    def bring(self, part: Part, file: Path) -> None:
        """Nothing takes long."""

    def keep(self, part: Part, file: Path) -> None:
        """Rename the file, and let that reach the disk."""
        with full_is_a_problem():
            file.replace(self.part(part.trace, part.number))
            for folder in (self.folder(part.trace), self.folder(part.trace).parent, self.root):
                sync_folder(folder)

    def open(self, part: Part) -> IO[bytes]:
        """Open its file."""
        return self.part(part.trace, part.number).open("rb")

    def drop(self, key: str) -> None:
        """Remove its file."""
        (self.root / key).unlink(missing_ok=True)

    def remove(self, trace: UUID) -> None:
        """Remove its folder."""
        if self.folder(trace).exists():
            shutil.rmtree(self.folder(trace))

    def traces(self) -> Iterator[UUID]:
        """The traces that have a folder, even an empty one."""
        for folder in sorted(self.root.glob("??/*")):
            with suppress(ValueError):
                if self.folder(trace := UUID(folder.name)) == folder:
                    yield trace

    def stored(self, trace: UUID) -> list[Stored]:
        """Its files."""
        found = []
        for path in sorted(self.folder(trace).glob(f"*{SUFFIX}")):
            with suppress(FileNotFoundError, ValueError):  # it goes meanwhile, or is not ours
                facts, key = path.stat(), str(path.relative_to(self.root))
                found.append(Stored(key, trace, int(path.stem), facts.st_size, facts.st_ctime))
        return found

    def summary(self, part: Part) -> bytes:
        """Read its file."""
        return self._summary(part).read_bytes()

    def keep_summary(self, part: Part, content: bytes) -> None:
        """Under a name of its own first. A torn file does not have its sum, so nothing is waited for."""
        path = self._summary(part)
        unfinished = path.with_name(f"{path.name}-{secrets.token_hex(8)}{UNFINISHED}")
        try:
            unfinished.write_bytes(content)
            os.replace(unfinished, path)  # noqa: PTH105 - as it is
        finally:
            unfinished.unlink(missing_ok=True)

    def _summary(self, part: Part) -> Path:
        return self.part(part.trace, part.number).with_suffix(SUMMARY)
