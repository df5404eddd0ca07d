# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a source for a while, and holds it to its promise: every index in one place, in order, without a hole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from happe_contract.traces import Block, Gap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from happe_contract.traces import TimePair
    from happe_power.sources.source import Reading, Source


@dataclass
class Taken:
    """What a source gave."""

    began: TimePair
    items: list[Block | Gap] = field(default_factory=list)
    pairs: list[TimePair] = field(default_factory=list)

    @property
    def blocks(self) -> list[Block]:
        """The samples."""
        return [item for item in self.items if isinstance(item, Block)]

    @property
    def gaps(self) -> list[Gap]:
        """What was lost."""
        return [item for item in self.items if isinstance(item, Gap)]

    @property
    def end_index(self) -> int:
        """One past the last index."""
        last = self.items[-1]
        return last.end_index if isinstance(last, Block) else last.to_index

    def column(self, channel: int) -> NDArray[Any]:
        """All rows of a channel."""
        return np.concatenate([block.columns[channel] for block in self.blocks])

    def add(self, reading: Reading) -> None:
        """Check that it joins, and keep it."""
        for item in reading.items:
            first = item.first_index if isinstance(item, Block) else item.from_index
            expected = self.end_index if self.items else self.began.index
            assert first == expected, f"{item} after index {expected}"
            if isinstance(item, Gap):
                assert item.to_index > item.from_index
            else:
                assert item.rows > 0
                assert {len(column) for column in item.columns} == {item.rows}
            self.items.append(item)
        if reading.at:
            assert reading.at.index == self.end_index
            self.pairs.append(reading.at)


def take(source: Source, reads: int, timeout_s: float = 0.2, first_index: int = 0) -> Taken:
    """Start a source and read it so often."""
    taken = Taken(source.start(first_index))
    assert taken.began.index == first_index
    for _ in range(reads):
        taken.add(source.read(timeout_s))
    for block in taken.blocks:
        for column, channel in zip(block.columns, source.channels, strict=True):
            assert column.dtype == channel.dtype
    return taken
