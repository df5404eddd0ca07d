# SPDX-License-Identifier: GPL-2.0-or-later
"""The paths in a trace's folder, and the few fields of its header that every writer needs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from happe_contract.parts import room

if TYPE_CHECKING:
    from pathlib import Path

    from happe_contract.traces import Channel, Gap

FOLDERS = ("parts", "open")
LOCAL = "local"  # an empty file beside the header: do not upload this trace
MEASURED = "measured"  # the same: each run in the trace has its figure, so its parts may go once it is sealed


@dataclass(frozen=True)
class Layout:
    """A trace that is being written: its folder, and its header's columns and indices."""

    folder: Path
    trace: str
    channels: tuple[Channel, ...]
    rate_hz: float
    origin: int  # the first index
    part_seconds: int

    @property
    def part_rows(self) -> int:
        """Indices of a part, by the nominal rate."""
        return max(1, round(self.rate_hz * self.part_seconds))

    @property
    def part_room(self) -> int:
        """A part's file is padded to a multiple of these bytes."""
        return room(self.rate_hz, self.part_seconds, sum(channel.dtype.itemsize for channel in self.channels))

    @property
    def gaps(self) -> Path:
        """The file of gaps."""
        return self.folder / "gaps.jsonl"

    @property
    def digests(self) -> Path:
        """The file of the parts' sizes and SHA-256."""
        return self.folder / "digests.jsonl"

    @property
    def manifest(self) -> Path:
        """The manifest, written last."""
        return self.folder / "manifest.json"

    @property
    def lock(self) -> Path:
        """The file that a running recorder keeps locked."""
        return self.folder / "open" / "lock"

    def raw(self, number: int) -> Path:
        """The raw file of a part that is not closed."""
        return self.folder / "open" / f"{number:06}.raw"

    def part(self, number: int) -> Path:
        """A part's file."""
        return self.folder / "parts" / f"{number:06}.parquet"


def gap_line(gap: Gap) -> bytes:
    """A gap as a line of gaps.jsonl."""
    return compact({"from_index": gap.from_index, "to_index": gap.to_index, "reason": gap.reason.value}) + b"\n"


def compact(document: Any) -> bytes:  # noqa: ANN401 - JSON of any shape
    """A document as bytes, without blanks."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()
