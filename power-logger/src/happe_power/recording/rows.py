# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps a part's rows one after the other in memory, so that the full part is whole columns without a copy."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from happe_contract.traces import Block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from happe_contract.traces import Channel


class Rows:
    """A buffer that holds rows one after the other."""

    def __init__(self, channels: Sequence[Channel], most: int) -> None:
        """Allocate room for `most` rows."""
        self._columns = tuple(np.empty(most, channel.dtype) for channel in channels)
        self._taken = 0

    def joined(self, blocks: Sequence[Block]) -> Block:
        """Copy blocks that follow each other into one, behind the earlier rows, or elsewhere if the buffer is full."""
        given = list(zip(*(block.columns for block in blocks), strict=True))
        taken = slice(self._taken, self._taken + sum(block.rows for block in blocks))
        if taken.stop > len(self._columns[0]):
            return Block(blocks[0].first_index, tuple(map(np.concatenate, given)))
        columns = tuple(column[taken] for column in self._columns)
        for column, pieces in zip(columns, given, strict=True):
            np.concatenate(pieces, out=column)
        self._taken = taken.stop
        return Block(blocks[0].first_index, columns)


def concatenated(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join arrays of one type. Returns a view if they already lie one after the other in one array's memory."""
    whole = columns[0].base
    if not isinstance(whole, np.ndarray) or not all(_is_piece(column, whole) for column in columns):
        return np.concatenate(columns)
    if any(_address(before) + before.nbytes != _address(after) for before, after in pairwise(columns)):
        return np.concatenate(columns)
    first = (_address(columns[0]) - _address(whole)) // whole.itemsize
    return whole[first : first + sum(map(len, columns))]


def _is_piece(column: NDArray[Any], whole: NDArray[Any]) -> bool:
    contiguous = column.flags.c_contiguous and whole.flags.c_contiguous
    return contiguous and column.base is whole and column.dtype == whole.dtype


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
