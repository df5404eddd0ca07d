# SPDX-License-Identifier: GPL-2.0-or-later
"""Accounts for each index: it is a row of one part, or lies in one gap. Pure."""

from collections.abc import Iterable, Iterator, Sequence

from happe_contract.traces import Block, Gap, Reason, TimePair


def span(item: Block | Gap) -> tuple[int, int]:
    """The first index of a block or gap, and the first after it."""
    return (item.first_index, item.end_index) if isinstance(item, Block) else (item.from_index, item.to_index)


def add(gaps: list[Gap], gap: Gap) -> None:
    """Append a gap. If it continues the last gap for the same reason, make that one longer."""
    if gap.to_index <= gap.from_index:
        return
    if gaps and gaps[-1].to_index == gap.from_index and gaps[-1].reason is gap.reason:
        gap = Gap(gaps.pop().from_index, gap.to_index, gap.reason)
    gaps.append(gap)


def merged(known: Iterable[Gap], found: Iterable[Gap]) -> list[Gap]:
    """Append found gaps to the known ones, by index. The stretch up to the end of the last known gap counts once."""
    gaps = list(known)
    for gap in found:
        end = gaps[-1].to_index if gaps else gap.from_index
        add(gaps, Gap(max(gap.from_index, end), gap.to_index, gap.reason))
    return gaps


def holes(first_index: int, end_index: int, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the stretches of [first_index, end_index) that no span covers. Spans: (first, end), by index."""
    reached = first_index
    for first, end in spans:
        if first > reached:
            yield reached, first
        reached = max(reached, end)
    if end_index > reached:
        yield reached, end_index


def overlaps(first_index: int, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the stretches before `first_index` or in more than one span. Spans: (first, end), by index."""
    reached = first_index
    for first, end in spans:
        if first < reached:
            yield first, min(reached, end)
        reached = max(reached, end)


def continued(items: Iterable[Block | Gap], expected: int) -> Iterator[Block | Gap]:
    """Yield a source's items without holes or repetitions.

    Indices that the source skips become a gap `invalid`. Rows and gaps that it repeats are dropped.
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


MOST_IN_MANIFEST = 8192


def thinned(pairs: Sequence[TimePair], rate_hz: float, seconds: int, restarts: Iterable[int] = ()) -> list[TimePair]:
    """One pair for each `seconds` by the nominal rate, and at least one after each restart (positions in `pairs`).

    Drops a pair that goes back in index or monotonic time, or that repeats the pair before.
    """
    anew = set(restarts)
    best: dict[tuple[int, int], tuple[float, TimePair]] = {}
    piece = 0
    last: TimePair | None = None
    for position, pair in enumerate(pairs):
        piece += position in anew
        if last and (pair.index < last.index or pair.monotonic_us < last.monotonic_us or pair == last):
            continue
        last = pair
        key, late = (piece, int(pair.index / (rate_hz * seconds))), lateness(pair, rate_hz)
        if key not in best or late < best[key][0]:
            best[key] = (late, pair)
    return [pair for _, pair in best.values()]


def lateness(pair: TimePair, rate_hz: float) -> float:
    """A pair's time in microseconds minus the time of its index at the nominal rate, to compare pairs by."""
    return pair.monotonic_us - pair.index * 1e6 / rate_hz


def for_manifest(pairs: Sequence[TimePair], rate_hz: float) -> list[TimePair]:
    """About one pair a minute, at most as many as a manifest may have."""
    kept = thinned(pairs, rate_hz, 60)
    return kept[:: -(-len(kept) // MOST_IN_MANIFEST) or 1]
