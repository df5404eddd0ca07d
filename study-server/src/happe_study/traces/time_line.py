# SPDX-License-Identifier: GPL-2.0-or-later
"""From a sample's index to the meter's clock, by pairs that were read together (docs/uncertainty.md). Pure.

A pair is late, never early, so time runs along the lower edge of the pairs: of all lines below them the one that is
nearest to them (Moon, Skelly and Towsley 1999), which is the edge of their lower convex hull above their middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LEAST_SPAN_US = 1_000_000  # pairs nearer than this tell no rate
MOST_OFF = 1e-3  # an oscillator that is further off its nominal rate does not exist: the pairs are bad

Pair = tuple[int, int]


@dataclass(frozen=True)
class TimeLine:
    """monotonic_us = at_us + period_us * (index - at_index), within a bound."""

    at_index: float
    at_us: float
    period_us: float
    bound_us: float

    def us(self, index: float) -> float:
        """The time of a sample."""
        return self.at_us + self.period_us * (index - self.at_index)

    def index(self, us: float) -> float:
        """The position at a time: an index with a fraction."""
        return self.at_index + (us - self.at_us) / self.period_us


def time_line(pairs: Iterable[Pair], rate_hz: float) -> TimeLine:
    """The line of at least one pair of index and microseconds; by the nominal rate if they tell none."""
    ordered = sorted(pairs)
    nominal = 1e6 / rate_hz
    edge = _edge(_lower_hull(ordered), (ordered[0][0] + ordered[-1][0]) / 2)
    period = _period(edge, nominal)
    at = min(ordered, key=lambda pair: pair[1] - period * (pair[0] - ordered[0][0]))
    late = [us - at[1] - period * (index - at[0]) for index, us in ordered]
    return TimeLine(at[0], at[1], period, median(late) + period / 2)


def _period(edge: tuple[Pair, Pair] | None, nominal: float) -> float:
    if edge is None or edge[1][1] - edge[0][1] < LEAST_SPAN_US:
        return nominal
    period = (edge[1][1] - edge[0][1]) / (edge[1][0] - edge[0][0])
    return period if abs(period / nominal - 1) < MOST_OFF else nominal


def _lower_hull(ordered: list[Pair]) -> list[Pair]:
    """Andrew's monotone chain, its lower half."""
    hull: list[Pair] = []
    for pair in ordered:
        while len(hull) > 1 and not _turns_up(hull[-2], hull[-1], pair):
            hull.pop()
        if not hull or pair[0] > hull[-1][0]:
            hull.append(pair)
    return hull


def _turns_up(a: Pair, b: Pair, c: Pair) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0])


def _edge(hull: list[Pair], middle: float) -> tuple[Pair, Pair] | None:
    return next(((a, b) for a, b in pairwise(hull) if a[0] <= middle <= b[0]), None)
