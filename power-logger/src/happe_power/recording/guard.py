# SPDX-License-Identifier: GPL-2.0-or-later
"""Finds unusable samples: at or past the ends of the range, or no number. Pure.

A row is lost when one of its channels is. Rows between two bad ones that are nearer than `hold` rows are lost with
them: an input that comes out of saturation needs time, and a trace can list only so many gaps.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from happe_contract.traces import Block, Channel, Gap, Measures, Reason

Mask = NDArray[np.bool_]

HOLD_S = 0.01
SATURATED, INVALID = 1, 2


class UnusableError(ValueError):
    """Some samples are unusable, and the caller needs all of them."""


def guarded(block: Block, channels: Sequence[Channel], hold: int) -> list[Block | Gap]:
    """Split a block into the pieces that can be used, and gaps `saturated` or `invalid`."""
    suspects = [pair for pair in zip(channels, block.columns, strict=True) if _suspect(*pair)]
    if not suspects:
        return [block]
    kinds = np.zeros(block.rows, np.int8)
    for channel, column in suspects:
        impossible = _impossible(channel, column)
        kinds[_at_end(channel, column) & ~impossible] |= SATURATED
        kinds[impossible] |= INVALID
    return list(_pieces(block, _held(np.minimum(kinds, INVALID), hold)))


def usable(block: Block, channels: Sequence[Channel]) -> Block:
    """Check a block: all of it must be usable. Raises UnusableError, with advice."""
    for piece in guarded(block, channels, 0):
        if isinstance(piece, Gap):
            does = ": take a wider range" if piece.reason is Reason.SATURATED else ""
            raise UnusableError(f"{piece.reason} samples{does}")
    return block


def _suspect(channel: Channel, column: NDArray[Any]) -> bool:
    """Whether any value of a column may be bad. Its extremes show that: a single NaN makes both NaN.

    A marker may stand at the ends of its range: it is on or off.
    """
    if channel.measures is Measures.MARKER and bool(np.isfinite(column).all()):
        return False
    low, high = column.min(), column.max()
    inside = (channel.lowest is None or low > channel.lowest) and (channel.highest is None or high < channel.highest)
    return not (inside and bool(np.isfinite(low)) and bool(np.isfinite(high)))


def _impossible(channel: Channel, column: NDArray[Any]) -> Mask:
    """Mark values that are no number, or further outside the range than the range is wide."""
    bad: Mask = ~np.isfinite(column)
    if channel.lowest is not None and channel.highest is not None:
        width = channel.highest - channel.lowest
        bad |= (column > channel.highest + width) | (column < channel.lowest - width)
    return bad


def _at_end(channel: Channel, column: NDArray[Any]) -> Mask:
    """Mark values at or past an end of the range."""
    bad = np.zeros(len(column), bool)
    if channel.lowest is not None:
        bad |= column <= channel.lowest
    if channel.highest is not None:
        bad |= column >= channel.highest
    return bad


def _held(kinds: NDArray[np.int8], hold: int) -> NDArray[np.int8]:
    """Mark a stretch of less than `hold` good rows between two bad rows like the bad row before it."""
    for before, after in pairwise(np.flatnonzero(kinds)):
        if 1 < after - before <= hold:
            kinds[before:after] = kinds[before]
    return kinds


def _pieces(block: Block, kinds: NDArray[np.int8]) -> Iterator[Block | Gap]:
    """Yield a block's stretches of one kind: usable rows (kind 0) as a block, others as a gap."""
    starts = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), block.rows]
    for start, end in pairwise(starts):
        if kinds[start] == 0:
            yield Block(block.first_index + start, tuple(column[start:end] for column in block.columns))
        else:
            reason = Reason.INVALID if kinds[start] == INVALID else Reason.SATURATED
            yield Gap(block.first_index + start, block.first_index + end, reason)
