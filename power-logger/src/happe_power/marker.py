# SPDX-License-Identifier: GPL-2.0-or-later
"""The marker: a pattern of CPU load that the laptop makes before and after a session, so that its power shows the time.

The pattern is the sequence of 127 chips of 200 ms that a shift register of seven bits gives, all ones at first, with
x^7 + x^6 + 1 (S. Golomb, Shift Register Sequences, 1967): each step puts out the last bit and shifts in the exclusive
or of the last two. A chip of 1 means that all CPUs are busy, 0 that they are idle; after the last chip the load is
off. The pattern agrees with a shifted copy of itself as often as not, so a search can't take one delay for another.

`align` finds it in a trace, to check the clock offset without a network. It only reports. Cuts always use the clocks'
offset, never the marker's: a laptop's power supply follows a load some milliseconds late, and the delay found here
includes that.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from happe_contract.measuring.noise import scatter

Values = NDArray[np.float64]

BITS = 7
SEED = 0b1111111
CHIP_US = 200_000


class Switch(NamedTuple):
    """A change of the load at `at_us`."""

    at_us: int
    on: bool


def chips() -> tuple[bool, ...]:
    """The 127 chips; True: the load is on."""
    register, made = SEED, []
    for _ in range(2**BITS - 1):
        made.append(bool(register & 1))
        register = register >> 1 | ((register ^ register >> 1) & 1) << (BITS - 1)
    return tuple(made)


DURATION_US = (2**BITS - 1) * CHIP_US


def pattern(start_us: int) -> tuple[Switch, ...]:
    """The load's switching times, by the clock of `start_us`. The first switches it on, the last off, at the end."""
    made: list[Switch] = []
    for number, on in enumerate((*chips(), False)):
        if not made or made[-1].on is not on:
            made.append(Switch(start_us + number * CHIP_US, on))
    if made[-1].at_us != start_us + DURATION_US:
        made.append(Switch(start_us + DURATION_US, on=False))
    return tuple(made)


BIN_US = 10_000
SEARCH_US = 10_000_000
FALSE_ALARM = 1e-3  # the probability of a false find, over all searched delays
ROUNDS = 8
SETTLED_US = 0.1
BINS: int = (DURATION_US + 2 * SEARCH_US) // BIN_US


class Alignment(NamedTuple):
    """The result of a search for the marker.

    `correlation` is the normalised cross-correlation (-1 to 1) at the best delay; `threshold` is the least that counts.
    `late_us` is how much later than expected the power shows the marker, with the standard uncertainty `uncertainty_us`
    (k = 1). `step` is the load's addition, in the series' unit. The three are None without a marker, or if fewer than
    half of the samples are there.
    """

    correlation: float
    threshold: float
    late_us: float | None
    uncertainty_us: float | None
    step: float | None

    @property
    def found(self) -> bool:
        """Whether the search found the marker."""
        return self.late_us is not None


def threshold(delays: int, ways: int = 1) -> float:
    """The correlation that a series without a marker stays below, if a search looks at it in `ways` ways.

    For n = 127 independent chips, the correlation scatters by 1 / sqrt(n). The normal quantile is for FALSE_ALARM
    divided by the number of looks, one for each chip of delay (C. Bonferroni). Loads that change more slowly than a
    chip have fewer than 127 independent values, so `align` looks at differences from the mean of the two chips around.
    """
    looks = max(1, math.ceil(delays * BIN_US / CHIP_US)) * 2 * ways
    return NormalDist().inv_cdf(1 - FALSE_ALARM / looks) / math.sqrt(len(chips()))


def align_channel(means: Values, deviations: Values) -> Alignment:
    """Look for the marker in a channel of a line, a light or a sound, by means and deviations of BINS bins.

    The marker may be a higher level, a lower one (a photodiode that pulls a line down), or a stronger tone, whose mean
    does not change. The way with the best correlation counts.
    """
    ways = (means, -means, deviations)
    return max((align(each, len(ways)) for each in ways), key=lambda found: found.correlation)


def align(watts: Values, ways: int = 1) -> Alignment:
    """Look for the marker in BINS mean powers of BIN_US each, NaN where samples are missing.

    The first bin begins SEARCH_US before the expected marker. Raises ValueError for another number of bins.
    """
    if len(watts) != BINS:
        raise ValueError(f"{len(watts)} bins; {BINS} are wanted")
    known = np.isfinite(watts)
    delays = len(watts) - DURATION_US // BIN_US + 1
    least = threshold(delays, ways)
    if 2 * known.sum() < len(watts):
        return Alignment(0.0, least, None, None, None)
    found = _correlations(_fast(watts), _fast(template(0.0)))
    best = int(np.argmax(found))
    correlation = float(found[best])
    if correlation < least:
        return Alignment(correlation, least, None, None, None)
    late_us, uncertainty_us, step = _fitted(watts, best * BIN_US - SEARCH_US)
    return Alignment(correlation, least, late_us, uncertainty_us, step)


def template(late_us: float, bins: int = DURATION_US // BIN_US) -> Values:
    """The share of each bin in which the load is on, if the marker begins `late_us` after the first bin."""
    edges = np.arange(bins + 1) * BIN_US - late_us
    on = np.concatenate([[0.0], np.cumsum(chips())]) * CHIP_US  # how long the load has been on at each chip's begin
    shares: Values = np.diff(np.interp(edges, np.arange(len(on)) * CHIP_US, on)) / BIN_US
    return shares


def _fast(series: Values) -> Values:
    """Remove changes slower than two chips. Unknown values become 0, which add nothing to a correlation."""
    known = np.isfinite(series)
    width = np.ones(4 * CHIP_US // BIN_US)
    counts = np.convolve(known, width, "same")
    around = np.convolve(np.where(known, series, 0.0), width, "same") / np.maximum(counts, 1.0)
    return np.where(known, series - around, 0.0)


def _correlations(series: Values, pattern: Values) -> Values:
    """Normalised cross-correlation (Pearson's r) at each delay."""
    n = len(pattern)
    centred = pattern - pattern.mean()
    products: Values = np.correlate(series, centred, "valid")
    sums, squares = (np.cumsum(np.concatenate([[0.0], each])) for each in (series, series**2))
    spread = (squares[n:] - squares[:-n]) - (sums[n:] - sums[:-n]) ** 2 / n
    scale = np.sqrt(np.maximum(spread, 0.0) * (centred @ centred))
    found: Values = np.divide(products, scale, out=np.zeros_like(products), where=scale > 1e-12 * np.abs(series).max())
    return found


def _fitted(watts: Values, late_us: float) -> tuple[float, float, float]:
    """Fit the delay, its standard uncertainty and the step, by Gauss and Newton's least squares between bins.

    The model of the power is a base, a step times the template, and the template's change with the delay. The
    uncertainty is that of the linear fit times the square root of the residuals' autocorrelation time (noise.scatter).
    """
    uncertainty_us, step_w = math.inf, 0.0
    for _ in range(ROUNDS):
        at = late_us + SEARCH_US
        slope = (template(at + BIN_US / 2, len(watts)) - template(at - BIN_US / 2, len(watts))) / BIN_US
        inside = np.isfinite(watts) & _within(at, len(watts))
        columns = np.column_stack([np.ones(len(watts)), template(at, len(watts)), slope])[inside]
        fit, *_ = np.linalg.lstsq(columns, watts[inside], rcond=None)
        residuals = watts[inside] - columns @ fit
        step_w = float(fit[1])
        move = float(np.clip(fit[2] / step_w, -BIN_US, BIN_US))
        variance = float(residuals @ residuals) / max(len(residuals) - 3, 1)
        spread = math.sqrt(variance * scatter(residuals).tau * float(np.linalg.inv(columns.T @ columns)[2, 2]))
        uncertainty_us = spread / abs(step_w)
        late_us += move
        if abs(move) < SETTLED_US:
            break
    return late_us, uncertainty_us, step_w


def _within(at_us: float, bins: int) -> NDArray[np.bool_]:
    """The bins of the marker and a chip around it."""
    middle = (np.arange(bins) + 0.5) * BIN_US
    within: NDArray[np.bool_] = (middle > at_us - CHIP_US) & (middle < at_us + DURATION_US + CHIP_US)
    return within
