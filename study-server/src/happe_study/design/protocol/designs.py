# SPDX-License-Identifier: GPL-2.0-or-later
"""Williams designs: orders of treatments that are balanced for position and for first-order carry-over.

Source: E. J. Williams, "Experimental designs balanced for the estimation of residual effects of treatments", Australian
Journal of Scientific Research A 2 (1949), 149-168.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Row = tuple[int, ...]  # treatments, numbered from 0, in the order of their periods


def williams(treatments: int) -> tuple[Row, ...]:
    """The sequences of a Williams design: `treatments` of them if that is even (or 1), else twice as many.

    Over all sequences each treatment is equally often in each period, and each is equally often followed at once by
    each other. With an odd number one such square does not do, so a second one mirrors the first. ValueError below 1.
    """
    if treatments < 1:
        raise ValueError(f"{treatments} treatments: at least 1")
    first = _zigzag(treatments)
    square = tuple(tuple((treatment + shift) % treatments for treatment in first) for shift in range(treatments))
    if treatments % 2 == 0 or treatments == 1:
        return square
    return square + tuple(row[::-1] for row in square)


def _zigzag(treatments: int) -> Row:
    """0, 1, n-1, 2, n-2, ...: modulo an even n, all its steps differ."""
    return tuple((period + 1) // 2 if period % 2 else (-(period // 2)) % treatments for period in range(treatments))


def periods(rows: Sequence[Row]) -> Counter[tuple[int, int]]:
    """How often each treatment is in each period: (period, treatment) to a count."""
    return Counter(chain.from_iterable(enumerate(row) for row in rows))


def carry_over(rows: Sequence[Row]) -> Counter[tuple[int, int]]:
    """How often a treatment is followed at once by another: (before, after) to a count."""
    return Counter(chain.from_iterable(pairwise(row) for row in rows))


def is_balanced(rows: Sequence[Row], treatments: int) -> bool:
    """Whether each treatment is equally often in each period, and equally often follows each other one."""
    every = range(treatments)
    at = periods(rows)
    after = carry_over(rows)
    pairs = [(one, other) for one in every for other in every if one != other]
    return (
        all(sorted(row) == list(every) for row in rows)
        and len({at[period, treatment] for period in every for treatment in every}) == 1
        and len({after[pair] for pair in pairs}) <= 1
    )
