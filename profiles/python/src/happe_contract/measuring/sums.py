# SPDX-License-Identifier: GPL-2.0-or-later
"""Sums over samples that pass by: over a window of indices, and over short stretches of it.

The sample with index i stands for the indices from i to i + 1; a window may begin and end at any fraction. In this file
x and y are the channels' values at the input; `y` is all ones without a second channel.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from happe_contract.rig import Moments

Values = NDArray[np.float64]


class Samples(NamedTuple):
    """The values of consecutive indices from `first` on."""

    first: int
    x: Values
    y: Values

    @property
    def end(self) -> int:
        """One past the last index."""
        return self.first + len(self.x)


class Window:
    """Weighted sums of the samples between two positions. A sample that an end cuts counts by the share inside."""

    def __init__(self, begin: float, end: float) -> None:
        """Begin with nothing."""
        self.begin = begin
        self.end = end
        self.weight = 0.0
        self._sums = np.zeros(4)

    def add(self, samples: Samples) -> None:
        """Add the samples that lie inside."""
        first = max(samples.first, math.floor(self.begin))
        end = min(samples.end, math.ceil(self.end))
        if first >= end:
            return
        part = slice(first - samples.first, end - samples.first)
        x, y = samples.x[part], samples.y[part]
        self._take(1.0, x, y)
        self._take(-max(self.begin - first, 0.0), x[:1], y[:1])
        self._take(-max(end - self.end, 0.0), x[-1:], y[-1:])

    def _take(self, share: float, x: Values, y: Values) -> None:
        if share:
            self.weight += share * len(x)
            self._sums += share * np.array([x.sum(), y.sum(), x @ x, x @ y])

    @property
    def coverage(self) -> float:
        """The share of the window that has samples."""
        return self.weight / (self.end - self.begin)

    @property
    def moments(self) -> Moments | None:
        """The means of x, y, x*x and x*y; None without samples."""
        return Moments(*(self._sums / self.weight).tolist()) if self.weight > 0 else None


class Stretches:
    """Means of power over stretches of equal length, at most `MOST`; only of whole samples inside the window."""

    MOST = 1 << 14

    def __init__(self, begin: float, end: float) -> None:
        """Begin with nothing."""
        self._begin = math.ceil(begin)
        self._end = max(math.floor(end), self._begin)
        self.length = max(1, math.ceil((self._end - self._begin) / self.MOST))
        count = math.ceil((self._end - self._begin) / self.length)
        self._sums = np.zeros(count)
        self._counts = np.zeros(count)

    def add(self, first: int, values: Values) -> None:
        """Take the values of consecutive indices from `first`."""
        skip = max(self._begin - first, 0)
        values = values[skip : max(self._end - first, 0)]
        if not len(values):
            return
        start = first + skip - self._begin
        stretch = start // self.length
        edges = np.arange(stretch * self.length, start + len(values), self.length) - start
        edges[0] = 0
        sums = np.add.reduceat(values, edges)
        self._sums[stretch : stretch + len(sums)] += sums
        self._counts[stretch : stretch + len(sums)] += np.diff(np.append(edges, len(values)))

    @property
    def means(self) -> Values:
        """The mean of each stretch; NaN where more than half of it is missing."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(2 * self._counts >= self.length, self._sums / self._counts, np.nan)


class Roughness:
    """The standard deviation of the changes from sample to sample (J. von Neumann, 1941: half the mean square).

    `usual` is the same from the median of the changes, in which a load's few steps do not count. Rounding needs it.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._squares = 0.0
        self._medians = 0.0
        self._count = 0

    def add(self, values: Values) -> None:
        """Take consecutive values."""
        steps = np.diff(values)
        if not len(steps):
            return
        self._squares += float(steps @ steps)
        self._medians += float(np.median(np.abs(steps))) * len(steps)
        self._count += len(steps)

    @property
    def usual(self) -> float:
        """The deviation by the median, in the values' unit, as if they were normal; 0 if most values do not change."""
        median = self._medians / self._count if self._count else 0.0
        return min(median / (MEDIAN_OF_NORMAL * math.sqrt(2)), self.deviation)

    @property
    def deviation(self) -> float:
        """The deviation in the values' unit; 0 for fewer than two values."""
        return math.sqrt(self._squares / (2 * self._count)) if self._count else 0.0


MEDIAN_OF_NORMAL = 0.6745  # the median of a normal variable's absolute value, in standard deviations
LAST_DIGITS = 1e-9  # of a value: the rounding errors between two equal values
NANO = 1e9
LEAST_GRID = 1000  # billionths: nobody rounds to decimals finer than a millionth
LARGEST = 1e9  # an int64 holds its billionths


class Steps:
    """Finds the step to which values were rounded: the largest decimal step that divides all of their changes.

    For values that are no decimals, such as counts times a scale, it is their smallest change.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._change = math.inf
        self._grid = 0  # in billionths
        self._last: float | None = None

    def add(self, values: Values) -> None:
        """Take consecutive values."""
        steps = np.diff(values, prepend=values[:1] if self._last is None else self._last)
        self._last = float(values[-1]) if len(values) else self._last
        changes = np.abs(steps[np.abs(steps) > LAST_DIGITS * np.abs(values)])
        self._change = min(self._change, float(changes.min(initial=math.inf)))
        if changes.max(initial=0.0) < LARGEST:
            self._grid = math.gcd(self._grid, int(np.gcd.reduce(np.rint(changes * NANO).astype(np.int64), initial=0)))

    @property
    def step(self) -> float | None:
        """The step in the values' unit; None: they never changed."""
        if not math.isfinite(self._change):
            return None
        return self._grid / NANO if self._grid >= LEAST_GRID else self._change


def differences(counters: Iterable[tuple[int, Values]]) -> Iterator[tuple[int, Values]]:
    """Yield a counter's growth in each sample, from its reading to the next one, in runs without a hole.

    Leaves out the last sample before a gap, and each step down, at which the counter began again.
    """
    last: tuple[int, float] | None = None
    for first, values in counters:
        if not len(values):
            continue
        if last and last[0] == first:
            yield from _growing(first - 1, np.diff(values, prepend=last[1]))
        elif len(values) > 1:
            yield from _growing(first, np.diff(values))
        last = (first + len(values), float(values[-1]))


def _growing(first: int, steps: Values) -> Iterator[tuple[int, Values]]:
    """Yield the runs of steps that are not negative."""
    start = 0
    for down in [*np.flatnonzero(steps < 0), len(steps)]:
        if down > start:
            yield first + start, steps[start:down]
        start = int(down) + 1
