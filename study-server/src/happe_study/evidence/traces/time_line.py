# SPDX-License-Identifier: GPL-2.0-or-later
"""From a sample's index to the meter's clock, by pairs that were read together (docs/uncertainty.md). Pure.

A pair is late, never early, so time runs along the lower edge of the pairs: of all lines below them the one that is
nearest to them (Moon, Skelly and Towsley 1999), which is the edge of their lower convex hull above their middle.
Where the instrument was started anew, nobody counted how many samples were lost: each piece between such gaps has a
line of its own, with the rate of the longest if it is shorter than a minute, and time is straight across a gap.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LEAST_SPAN_US = 1_000_000  # pairs nearer than this tell no rate
LONG_US = 60_000_000  # a piece with pairs so far apart tells its rate better than another one does
MOST_OFF = 1e-3  # an oscillator that is further off its nominal rate does not exist: the pairs are bad

Pair = tuple[int, int]
Span = tuple[int, int]
Knot = tuple[float, float]


@dataclass(frozen=True)
class TimeLine:
    """Times of indices: straight between knots (index, microseconds), which ascend in both, by the period outside."""

    knots: tuple[Knot, ...]
    period_us: float
    bound_us: float

    def us(self, index: float) -> float:
        """The time of a sample."""
        begin, us, period = self._leg(bisect_right(self.knots, index, key=lambda knot: knot[0]))
        return us + period * (index - begin)

    def index(self, us: float) -> float:
        """The position at a time: an index with a fraction."""
        begin, since, period = self._leg(bisect_right(self.knots, us, key=lambda knot: knot[1]))
        return begin + (us - since) / period

    def _leg(self, at: int) -> tuple[float, float, float]:
        """Index and time of the knot before a place, of the first before all; and the period from there on."""
        index, us = self.knots[max(at - 1, 0)]
        if not 0 < at < len(self.knots):
            return index, us, self.period_us
        return index, us, (self.knots[at][1] - us) / (self.knots[at][0] - index)


@dataclass(frozen=True)
class _Line:
    """The line of a piece: from its first index to its last, through a point, and how late its pairs are."""

    begin: int
    end: int
    through: Pair
    period_us: float
    late_us: float

    @property
    def knots(self) -> tuple[Knot, Knot]:
        index, us = self.through
        first, last = (us + self.period_us * (each - index) for each in (self.begin, self.end))
        return (self.begin, first), (self.end, last)


def time_line(pairs: Iterable[Pair], rate_hz: float, restarts: Sequence[Span] = ()) -> TimeLine:
    """The line of at least one pair of index and microseconds; by the nominal rate if they tell none.

    `restarts` are the gaps, from an index up to one, that the instrument was started anew in.
    """
    ordered = sorted(pairs)
    pieces = _pieces(ordered, sorted(restarts))
    nominal = 1e6 / rate_hz
    longest = _period(max((mine for _, _, mine in pieces), key=_span), nominal)
    lines = [_line(*piece, _period(piece[2], longest) if _span(piece[2]) >= LONG_US else longest) for piece in pieces]
    knots = _forward([knot for line in lines for knot in line.knots])
    return TimeLine(tuple(knots), longest, max(line.late_us + line.period_us / 2 for line in lines))


def _pieces(ordered: list[Pair], restarts: list[Span]) -> list[tuple[int, int, list[Pair]]]:
    """First and last index and pairs of each piece that has any. A pair's index may be one past the piece's last."""
    begins = [ordered[0][0], *(end for _, end in restarts)]
    ends = [*(begin for begin, _ in restarts), ordered[-1][0]]
    found = []
    for begin, end in zip(begins, ends, strict=True):
        mine = ordered[bisect_left(ordered, (begin, 0)) : bisect_left(ordered, (end + 1, 0))]
        if mine:
            found.append((begin, end, mine))
    return found


def _span(pairs: list[Pair]) -> int:
    return pairs[-1][1] - pairs[0][1]


def _line(begin: int, end: int, pairs: list[Pair], period: float) -> _Line:
    at = min(pairs, key=lambda pair: pair[1] - period * (pair[0] - pairs[0][0]))
    late = [us - at[1] - period * (index - at[0]) for index, us in pairs]
    return _Line(begin, end, at, period, median(late))


def _forward(knots: list[Knot]) -> list[Knot]:
    """Those that go on in both, after all before them."""
    kept = knots[:1]
    for knot in knots[1:]:
        if knot[0] > kept[-1][0] and knot[1] > kept[-1][1]:
            kept.append(knot)
    return kept


def _period(pairs: list[Pair], nominal: float) -> float:
    """Microseconds for an index, by the edge below pairs; the nominal ones if it tells none."""
    edge = _edge(_lower_hull(pairs), (pairs[0][0] + pairs[-1][0]) / 2)
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
