# SPDX-License-Identifier: GPL-2.0-or-later
"""Converts a sample's index to the meter's monotonic clock and back, by pairs of both that were read together. Pure.

A pair is read after its sample was taken: the bus, the driver and the scheduler make it late, never early. So time runs
along the lower edge of the pairs, not through their middle. For each piece between restarts of the instrument:

* its rate is the slope of the line below all pairs that is nearest to them (S. Moon, P. Skelly, D. Towsley, Estimation
  and removal of clock skew from network delay measurements, INFOCOM 1999): the edge of their lower convex hull that
  is below their mean index. A piece shorter than a minute has the rate of the longest one;
* in each minute, the pair nearest to that line is an anchor, and time is straight between anchors. So the time base
  follows a quartz that warms up, and ignores a single late pair.

A nominal rate is no clock. It serves a trace with a single pair, and a trace whose times were computed from it, such as
a file without times. Then only the begin is known, and each later second may be off by 500 ppm.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from happe_contract.traces import Gap, Reason, TimePair

Numbers = NDArray[np.float64]


RESTARTS = frozenset({Reason.OVERFLOW, Reason.STALL, Reason.UNPLUGGED, Reason.KILLED})  # others keep counting
ANCHOR_US = 60_000_000
READING_US = 1.0  # a time in whole microseconds is up to this much too low
UNTOLD_PPM = 500.0  # the possible error of a rate that no pairs give


class _Piece(NamedTuple):
    """Indices from `begin` to `end` (None: open) that an instrument counted without a restart, and their pairs."""

    begin: int
    end: int | None
    indices: Numbers
    times: Numbers  # microseconds since the first pair of all


@dataclass(frozen=True)
class TimeBase:
    """Index and monotonic time, straight between anchors. Times are microseconds; `origin_us` is anchor time 0.

    `late_us[i]` is the typical lateness of pairs, the median in the piece of anchor i: a bound on the lateness of the
    quickest, which no pair shows. `untold_ppm` is the possible error of the rate; 0 if pairs give the rate.
    """

    origin_us: int
    index: NDArray[np.float64]
    time: NDArray[np.float64]
    late_us: NDArray[np.float64]
    begins: NDArray[np.float64]
    rate_hz: float
    untold_ppm: float = 0.0

    def us(self, position: float) -> float:
        """The time at a position (an index with a fraction)."""
        return self.origin_us + float(self.after_us(np.array(position)))

    def after_us(self, positions: Numbers) -> Numbers:
        """The times at several positions since the first pair."""
        return _along(self.index, self.time, positions, 1e6 / self.rate_hz)

    def monotonic_us(self, position: float) -> int:
        """The time at a position in whole microseconds, like a reading of the clock."""
        return self.origin_us + round(float(self.after_us(np.array(position))))

    def position(self, monotonic_us: float) -> float:
        """The position at a time."""
        return float(_along(self.time, self.index, np.array(monotonic_us - self.origin_us), self.rate_hz / 1e6))

    def half_width_us(self, position: float) -> float:
        """A bound on the error of a position's time: the lateness of pairs, a digit, and half a sample.

        Half a sample, because an instant may lie anywhere in a sample that is only known as a whole. A rate that no
        pairs give adds its possible error for the time since the nearest pair.
        """
        away_us = float(np.abs(self.index - position).min()) * 1e6 / self.rate_hz
        late_us = float(self.late_us[self._at(position)])
        return late_us + READING_US + 500_000.0 / self.rate_hz + self.untold_ppm * 1e-6 * away_us

    def piece(self, position: float) -> int:
        """The index at which the piece of a position begins. The times in a piece share their lateness."""
        return int(self.begins[self._at(position)])

    def _at(self, position: float) -> int:
        return max(int(np.searchsorted(self.index, position, side="right")) - 1, 0)


def is_nominal(pairs: Sequence[TimePair], nominal_hz: float) -> bool:
    """Whether all times follow the nominal rate to a microsecond, so that no clock gave them."""
    first = min(pairs, key=lambda pair: pair.index)
    due = (first.monotonic_us + (pair.index - first.index) * 1e6 / nominal_hz for pair in pairs)
    return all(abs(pair.monotonic_us - at) <= READING_US for pair, at in zip(pairs, due, strict=True))


def time_base(pairs: Sequence[TimePair], gaps: Sequence[Gap], nominal_hz: float, *, nominal: bool = False) -> TimeBase:
    """The time base of a trace's pairs. Raises ValueError if there are none.

    Pairs may be in any order. A pair has the index of the sample that comes next, so the position of that index has the
    pair's time. `nominal`: the times were computed from the nominal rate, so only the first one is used.
    """
    if not pairs:
        raise ValueError("a trace without a pair of index and time has no time")
    ordered = sorted(set(pairs), key=lambda pair: (pair.index, pair.monotonic_us))[: 1 if nominal else None]
    origin = ordered[0].monotonic_us
    index = np.array([pair.index for pair in ordered], dtype=np.float64)
    time = np.array([pair.monotonic_us - origin for pair in ordered], dtype=np.float64)
    pieces = [piece for piece in _pieces(index, time, gaps) if len(piece.indices)]
    told = _slope(max(pieces, key=lambda piece: float(piece.indices[-1] - piece.indices[0])))
    slope = told or 1e6 / nominal_hz
    made = [_anchors(piece, slope, told=told is not None) for piece in pieces]
    joined = [np.concatenate(each) for each in zip(*made, strict=True)]
    forward = _forward(joined[0], joined[1])
    index, time, late, begins = (each[forward] for each in joined)
    return TimeBase(origin, index, time, late, begins, 1e6 / slope, 0.0 if told else UNTOLD_PPM)


def _pieces(index: Numbers, time: Numbers, gaps: Sequence[Gap]) -> list[_Piece]:
    restarts = sorted((gap for gap in gaps if gap.reason in RESTARTS), key=lambda gap: gap.from_index)
    begins = [int(index[0]), *(gap.to_index for gap in restarts)]
    ends = [*(gap.from_index for gap in restarts), None]
    pieces = []
    for begin, end in zip(begins, ends, strict=True):
        last = len(index) if end is None else int(np.searchsorted(index, end, side="right"))
        part = slice(int(np.searchsorted(index, begin)), last)
        pieces.append(_Piece(begin, end, index[part], time[part]))
    return pieces


def _slope(piece: _Piece) -> float | None:
    """Microseconds per index, by the line below all pairs that is nearest to them; None for fewer than two points."""
    hull = _lower_hull(piece.indices, piece.times)
    if len(hull) < 2:  # noqa: PLR2004 - a line has two points
        return None
    x, y = piece.indices[hull], piece.times[hull]
    edge = min(max(int(np.searchsorted(x, piece.indices.mean())) - 1, 0), len(x) - 2)
    slope = float((y[edge + 1] - y[edge]) / (x[edge + 1] - x[edge]))
    return slope if slope > 0 else None


def _lower_hull(x: Numbers, y: Numbers) -> list[int]:
    """The points of the lower convex hull, by ascending x (A. Andrew's monotone chain, 1979)."""
    hull: list[int] = []
    for i in range(len(x)):
        if hull and x[i] == x[hull[-1]]:
            continue  # of pairs with the same index, the earliest counts
        while len(hull) > 1 and _turns_up(x, y, (hull[-2], hull[-1], i)) <= 0:
            hull.pop()
        hull.append(i)
    return hull


def _turns_up(x: Numbers, y: Numbers, points: tuple[int, int, int]) -> float:
    a, b, c = points
    return float((x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a]))


def _anchors(piece: _Piece, slope: float, *, told: bool) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """A piece's anchors: index, time, lateness and the piece's begin. If pairs give the rate, also its ends."""
    long = piece.times[-1] - piece.times[0] >= ANCHOR_US
    rate = (_slope(piece) if long else None) or slope
    nearest = _nearest(piece, rate)
    index, time = piece.indices[nearest], piece.times[nearest]
    if told:
        last = float(piece.indices[-1])
        ends = np.array([min(float(piece.begin), index[0]), last if piece.end is None else max(last, float(piece.end))])
        time = np.concatenate(
            [time[:1] + rate * (ends[:1] - index[:1]), time, time[-1:] + rate * (ends[1:] - index[-1:])]
        )
        index = np.concatenate([ends[:1], index, ends[1:]])
    late = float(np.median(piece.times - np.interp(piece.indices, index, time)))
    size = len(index)
    return index, time, np.full(size, max(late, 0.0)), np.full(size, index[0])


def _nearest(piece: _Piece, rate: float) -> list[int]:
    """The pair of each minute that is least late by this rate. A short last minute belongs to the one before."""
    late = piece.times - rate * piece.indices
    minutes = ((piece.times - piece.times[0]) // ANCHOR_US).astype(int)
    if piece.times[-1] - piece.times[0] >= ANCHOR_US:
        minutes = np.minimum(minutes, int((piece.times[-1] - piece.times[0]) // ANCHOR_US) - 1)
    edges = np.flatnonzero(np.diff(minutes, prepend=-1)).tolist()
    return [a + int(np.argmin(late[a:b])) for a, b in pairwise([*edges, len(late)])]


def _forward(index: Numbers, time: Numbers) -> NDArray[np.bool_]:
    """Mark the anchors that advance in both index and time over all anchors before them."""
    keep = np.zeros(len(index), dtype=bool)
    last = (-np.inf, -np.inf)
    for i, here in enumerate(zip(index.tolist(), time.tolist(), strict=True)):
        if here[0] > last[0] and here[1] > last[1]:
            keep[i], last = True, here
    return keep


def _along(x: Numbers, y: Numbers, at: Numbers, slope: float) -> Numbers:
    """The y at some x: straight between points, along `slope` beyond their ends."""
    inside = np.clip(at, x[0], x[-1])
    found: Numbers = np.interp(inside, x, y) + slope * (at - inside)
    return found
