# SPDX-License-Identifier: GPL-2.0-or-later
"""Storage in a folder: files `traces/UU/UUID/NNNNN.sealed`, each written completely or not at all."""

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
    """The folder of all traces. Unfinished parts lie beside finished ones."""

    def folder(self, trace: UUID) -> Path:
        """The folder of a trace's parts."""
        return self.root / str(trace)[:2] / str(trace)

    staging = folder

    def part(self, trace: UUID, number: int) -> Path:
        """The path of a part."""
        return self.folder(trace) / f"{number:05d}{SUFFIX}"

    def key(self, part: Part) -> str:
        """The part's path in the folder. It does not contain the digest, so another upload may replace the file."""
        return str(self.part(part.trace, part.number).relative_to(self.root))

    def bring(self, part: Part, file: Path) -> None:
        """Do nothing: `keep` does all, and is fast."""

    def keep(self, part: Part, file: Path) -> None:
        """Rename the file, and wait until the disk has the new name."""
        with full_is_a_problem():
            file.replace(self.part(part.trace, part.number))
            for folder in (self.folder(part.trace), self.folder(part.trace).parent, self.root):
                sync_folder(folder)

    def open(self, part: Part) -> IO[bytes]:
        """Open the part's file."""
        return self.part(part.trace, part.number).open("rb")

    def drop(self, key: str) -> None:
        """Remove the part's file."""
        (self.root / key).unlink(missing_ok=True)

    def remove(self, trace: UUID) -> None:
        """Remove the trace's folder."""
        if self.folder(trace).exists():
            shutil.rmtree(self.folder(trace))

    def traces(self) -> Iterator[UUID]:
        """The traces that have a folder, even an empty one."""
        for folder in sorted(self.root.glob("??/*")):
            with suppress(ValueError):
                if self.folder(trace := UUID(folder.name)) == folder:
                    yield trace

    def stored(self, trace: UUID) -> list[Stored]:
        """The trace's files."""
        found = []
        for path in sorted(self.folder(trace).glob(f"*{SUFFIX}")):
            with suppress(FileNotFoundError, ValueError):  # somebody removed it meanwhile, or it is not a part
                facts, key = path.stat(), str(path.relative_to(self.root))
                found.append(Stored(key, trace, int(path.stem), facts.st_size, facts.st_ctime))
        return found

    def summary(self, part: Part) -> bytes:
        """Read the summary's file."""
        return self._summary(part).read_bytes()

    def keep_summary(self, part: Part, content: bytes) -> None:
        """Write the summary under a temporary name, then rename it. No sync: a torn file fails its checksum."""
        path = self._summary(part)
        unfinished = path.with_name(f"{path.name}-{secrets.token_hex(8)}{UNFINISHED}")
        try:
            unfinished.write_bytes(content)
            os.replace(unfinished, path)  # noqa: PTH105 - one system call
        finally:
            unfinished.unlink(missing_ok=True)

    def _summary(self, part: Part) -> Path:
        return self.part(part.trace, part.number).with_suffix(SUMMARY)
