# SPDX-License-Identifier: GPL-2.0-or-later
"""Rows in memory, one behind the other, so that a part that is full is whole columns already."""

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
    """Room for rows, which come to lie there one behind the other."""

    def __init__(self, channels: Sequence[Channel], most: int) -> None:
        """Room for so many rows."""
        self._columns = tuple(np.empty(most, channel.dtype) for channel in channels)
        self._taken = 0

    def joined(self, blocks: Sequence[Block]) -> Block:
        """A copy of blocks that follow each other as one. It lies behind those before, or elsewhere if that is full."""
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
    """Arrays of a kind one after the other as one array; a view, if that is how they lie in another's memory."""
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
