# SPDX-License-Identifier: GPL-2.0-or-later
"""Summaries: lowest, mean and highest raw value of each channel over a tenth of a second. Pure.

A bin is `width` indices, counted from the trace's first; its samples are those that have a row. Bins without a row are
left out. A bin that a part's end cuts is in both parts' summaries, each with its own rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from happe_contract.traces import Channel

MOST_INT16 = 1 << 16  # the sum of so many int16 values fits into 32 bits


@dataclass(frozen=True)
class Summary:
    """A row for each bin: the `index` of its first sample, and how many `rows` it has.

    `lowest`, `mean` (float64) and `highest` have an array for each channel, of raw values.
    """

    index: NDArray[np.int64]
    rows: NDArray[np.int64]
    lowest: tuple[NDArray[Any], ...]
    mean: tuple[NDArray[np.float64], ...]
    highest: tuple[NDArray[Any], ...]


def width(rate_hz: float) -> int:
    """Indices of a bin of a tenth of a second by the nominal rate, at least 1."""
    return max(1, round(rate_hz / 10))


def summarise(columns: Sequence[NDArray[Any]], runs: Sequence[tuple[int, int]], origin: int, width: int) -> Summary:
    """The bins of a part's rows. `runs` are (first index, rows) by index; `origin` is the trace's first index."""
    pieces = []
    row = 0
    for first, rows in runs:
        pieces.append(_of_run([column[row : row + rows] for column in columns], first, origin, width))
        row += rows
    return _merged(joined(pieces), origin, width)


def joined(pieces: Sequence[Summary]) -> Summary:
    """Join summaries."""
    several = [(each.lowest, each.mean, each.highest) for each in pieces]
    lowest, mean, highest = (
        tuple(np.concatenate(column) for column in zip(*kind, strict=True)) for kind in zip(*several, strict=True)
    )
    index = np.concatenate([each.index for each in pieces])
    return Summary(index, np.concatenate([each.rows for each in pieces]), lowest, mean, highest)


def as_columns(summary: Summary, channels: Sequence[Channel]) -> dict[str, NDArray[Any]]:
    """A summary as the columns of its file: index, rows, and NAME_min, NAME_mean, NAME_max of each channel."""
    columns: dict[str, NDArray[Any]] = {"index": summary.index, "rows": summary.rows}
    for position, channel in enumerate(channels):
        columns[f"{channel.name}_min"] = summary.lowest[position]
        columns[f"{channel.name}_mean"] = summary.mean[position]
        columns[f"{channel.name}_max"] = summary.highest[position]
    return columns


def from_columns(columns: dict[str, NDArray[Any]], channels: Sequence[Channel]) -> Summary:
    """The summary in a file's columns. Raises KeyError if one is missing."""
    lowest, mean, highest = (
        tuple(columns[f"{channel.name}_{kind}"] for channel in channels) for kind in ("min", "mean", "max")
    )
    return Summary(columns["index"], columns["rows"], lowest, mean, highest)


def nothing(channels: Sequence[Channel]) -> Summary:
    """The summary of no samples."""
    raw = tuple(np.empty(0, channel.dtype) for channel in channels)
    return Summary(np.empty(0, np.int64), np.empty(0, np.int64), raw, tuple(np.empty(0) for _ in channels), raw)


def _of_run(columns: Sequence[NDArray[Any]], first: int, origin: int, width: int) -> Summary:
    """The bins of one run. Whole bins are the rows of a matrix, which numpy reduces fastest."""
    length = len(columns[0])
    head = min(length, (origin - first) % width)
    tail = head + (length - head) // width * width
    cut_before, cut_after = np.arange(min(head, 1)), np.arange(tail, min(length, tail + 1))
    starts = np.concatenate([cut_before, np.arange(head, tail, width), cut_after])
    rows = np.diff(starts, append=length)
    reduced = [_reduced(column, head, tail, width) for column in columns]
    lowest, total, highest = zip(*reduced, strict=True)
    return Summary(first + starts, rows, lowest, tuple(each / rows for each in total), highest)


def _reduced(column: NDArray[Any], head: int, tail: int, width: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Lowest, sum and highest of each bin: one cut before `head`, the whole ones up to `tail`, one cut after."""
    wide = _wide(column.dtype, width)
    pieces = (column[None, :head], column[head:tail].reshape(-1, width), column[None, tail:])
    kept = [piece for piece in pieces if piece.size]
    return (
        np.concatenate([piece.min(axis=1) for piece in kept]),
        np.concatenate([piece.sum(axis=1, dtype=wide) for piece in kept]),
        np.concatenate([piece.max(axis=1) for piece in kept]),
    )


def _wide(dtype: np.dtype[Any], width: int) -> type:
    """The fastest type that holds a bin's sum exactly, if one does."""
    if dtype == np.int16 and width <= MOST_INT16:
        return np.int32
    return np.int64 if dtype in (np.int16, np.int32) else np.float64


def _merged(fine: Summary, origin: int, width: int) -> Summary:
    """Merge the rows that belong to the same bin."""
    bins = (fine.index - origin) // width
    starts = np.flatnonzero(np.diff(bins, prepend=-1))
    if len(starts) == len(bins):
        return fine
    rows = np.add.reduceat(fine.rows, starts)
    return Summary(
        fine.index[starts],
        rows,
        tuple(np.minimum.reduceat(each, starts) for each in fine.lowest),
        tuple(np.add.reduceat(each * fine.rows, starts) / rows for each in fine.mean),
        tuple(np.maximum.reduceat(each, starts) for each in fine.highest),
    )
