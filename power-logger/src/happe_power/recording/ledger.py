# SPDX-License-Identifier: GPL-2.0-or-later
"""The account of indices: each is a row of one part or in one gap. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from happe_contract.traces import Block, Gap, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def span(item: Block | Gap) -> tuple[int, int]:
    """The first index of a block or gap, and the first after it."""
    return (item.first_index, item.end_index) if isinstance(item, Block) else (item.from_index, item.to_index)


def add(gaps: list[Gap], gap: Gap) -> None:
    """Put a gap behind the others; one that continues the last for the same reason makes it longer."""
    if gap.to_index <= gap.from_index:
        return
    if gaps and gaps[-1].to_index == gap.from_index and gaps[-1].reason is gap.reason:
        gap = Gap(gaps.pop().from_index, gap.to_index, gap.reason)
    gaps.append(gap)


def merged(known: Iterable[Gap], found: Iterable[Gap]) -> list[Gap]:
    """Known gaps and those found that lie behind them, by index. A known gap is not counted again."""
    gaps = list(known)
    for gap in found:
        end = gaps[-1].to_index if gaps else gap.from_index
        add(gaps, Gap(max(gap.from_index, end), gap.to_index, gap.reason))
    return gaps


def holes(first_index: int, end_index: int, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The indices from `first_index` up to and without `end_index` that no span has. Spans: (first, end), by index."""
    reached = first_index
    for first, end in spans:
        if first > reached:
            yield reached, first
        reached = max(reached, end)
    if end_index > reached:
        yield reached, end_index


def overlaps(first_index: int, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The indices that are before `first_index` or in more than one span. Spans: (first, end), by index."""
    reached = first_index
    for first, end in spans:
        if first < reached:
            yield first, min(reached, end)
        reached = max(reached, end)


def continued(items: Iterable[Block | Gap], expected: int) -> Iterator[Block | Gap]:
    """A source's items, without holes or repetitions.

    Indices that it skips silently are a gap `invalid`; rows and gaps that it gives a second time are skipped.
    """
    for item in items:
        first, end = span(item)
        if first > expected:
            yield Gap(expected, first, Reason.INVALID)
        if end > expected:
            yield item if first >= expected else _without(item, expected)
            expected = end


def _without(item: Block | Gap, before: int) -> Block | Gap:
    """The part of an item at or after an index."""
    if isinstance(item, Gap):
        return Gap(before, item.to_index, item.reason)
    return Block(before, tuple(column[before - item.first_index :] for column in item.columns))
