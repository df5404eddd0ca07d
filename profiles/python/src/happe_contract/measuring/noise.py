# SPDX-License-Identifier: GPL-2.0-or-later
"""Computes how exact a mean of correlated samples is, what 1/f noise leaves in it, and what rounding to counts adds."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST = 4  # values from which to estimate anything


@dataclass(frozen=True)
class Scatter:
    """The scatter of a series, and the uncertainty of its mean.

    `tau` is the integrated autocorrelation time in values (1: independent). `effective` = count / tau is the number of
    independent values with an equally exact mean. `dof` are the degrees of freedom of `standard_uncertainty`.
    """

    mean: float
    deviation: float
    count: int
    tau: float
    dof: float

    @property
    def effective(self) -> float:
        """The effective number of values, at least 1."""
        return max(self.count / self.tau, 1.0)

    @property
    def standard_uncertainty(self) -> float:
        """The mean's: GUM 4.2.3 with the effective number, less 1, as the deviation is about the series' own mean."""
        return self.deviation / math.sqrt(max(self.effective - 1.0, 1.0))


def scatter(series: NDArray[np.float64]) -> Scatter:
    """The scatter of a series of evenly spaced values, NaN where one is missing. At least one value must exist.

    tau is Geyer's initial monotone sequence (Practical Markov Chain Monte Carlo, Statistical Science 7, 1992, section
    3.3): it adds sums of neighbouring autocovariances until one is not positive, and counts none larger than the one
    before. tau is at least 1. With W lags used, var(tau) = 2 (2W + 1) / n tau^2 (A. Sokal, Monte Carlo Methods in
    Statistical Mechanics, 1996, section 3), and 2 / dof is the relative variance of a variance (GUM E.4.3): so
    dof = n / (2W + 1).
    """
    there = np.isfinite(series)
    count = int(there.sum())
    mean = float(series[there].mean())
    deviations = np.where(there, series - mean, 0.0)  # a missing one adds nothing to any product
    variance = float(deviations @ deviations) / count
    if count < LEAST or variance <= (1e-12 * mean) ** 2:
        return Scatter(mean, math.sqrt(variance), count, 1.0, max(count - 1.0, 1.0))
    tau, lags = _geyer(_autocovariances(deviations) / count / variance)
    return Scatter(mean, math.sqrt(variance), count, tau, max(count / (2 * lags + 1), 1.0))


def _autocovariances(deviations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of products at each lag, by the Fourier transform of the series followed by as many zeros."""
    size = 1 << (2 * len(deviations) - 1).bit_length()
    spectrum = np.fft.rfft(deviations, size)
    products: NDArray[np.float64] = np.fft.irfft(np.abs(spectrum) ** 2, size)[: len(deviations)]
    return products


def _geyer(correlations: NDArray[np.float64]) -> tuple[float, int]:
    """Return tau, and the largest lag that was used."""
    even = correlations[: len(correlations) // 2 * 2]
    pairs = even[0::2] + even[1::2]
    stop = int(np.argmax(pairs <= 0)) if bool((pairs <= 0).any()) else len(pairs)
    monotone = np.minimum.accumulate(pairs[:stop])
    return max(2.0 * float(monotone.sum()) - 1.0, 1.0), max(2 * stop - 1, 0)


class Flicker(NamedTuple):
    """The floor of a series' Allan deviation, and the degrees of freedom of its square; 0: no floor is visible."""

    floor: float
    dof: float


NO_FLICKER = Flicker(0.0, math.inf)
SHARES = (64, 32, 16, 8, 4)  # of the series: the lengths of stretches, each twice the one before
LEAST_LONG = 2048  # values; in a shorter series, the shortest stretches depend on their neighbours
SURE = 2.0  # standard uncertainties of the floor's square


def flicker(series: NDArray[np.float64]) -> Flicker:
    """The 1/f noise of a series of evenly spaced values (D. Allan, Statistics of atomic frequency standards, 1966).

    The Allan variance of stretches of m values is white / m + floor^2: the first part averages out, the second does
    not. A least squares fit of both to overlapping Allan variances weighs each by its degrees of freedom, the number of
    stretches less one. An uncertain floor counts as none: its effect is in the noise.
    """
    count = len(series)
    shares = SHARES if count >= LEAST_LONG else SHARES[1:]
    lengths = np.array([count // share for share in shares])
    if lengths[0] < 1:
        return NO_FLICKER
    sums = np.cumsum(np.concatenate([[0.0], series - series.mean()]))
    found = np.array([_allan_variance(sums, int(length)) for length in lengths])
    if not (found > 0).all():
        return NO_FLICKER
    weights = np.sqrt(count / lengths - 1) / found
    columns = np.column_stack([1 / lengths, np.ones(len(lengths))]) * weights[:, None]
    (_, square), *_ = np.linalg.lstsq(columns, found * weights, rcond=None)
    off = math.sqrt(float(np.linalg.inv(columns.T @ columns)[1, 1]))
    return Flicker(math.sqrt(square), 2 * (square / off) ** 2) if square > SURE * off else NO_FLICKER


def _allan_variance(sums: NDArray[np.float64], length: int) -> float:
    """Half the mean square of the differences between neighbouring stretches, over all positions."""
    means = (sums[length:] - sums[:-length]) / length
    steps = means[length:] - means[:-length]
    return float(steps @ steps) / len(steps) / 2


def rounding(step: float, deviation: float) -> float:
    """The standard uncertainty, in the unit of `step`, that rounding to multiples of `step` leaves in a mean.

    With noise of this standard deviation before rounding, a mean is off by at most step / pi times
    exp(-2 pi^2 (deviation / step)^2) (the first harmonic of the rounding error, B. Widrow and I. Kollar, Quantization
    Noise, 2008). The error is a sine of the value's place in the step, hence the square root of 2. Without noise, all
    samples have the same error, anywhere in a step: step / sqrt(12) (GUM F.2.2.1). The scatter already contains what
    rounding adds to it.
    """
    first_harmonic = step / (math.pi * math.sqrt(2)) * math.exp(-2 * (math.pi * deviation / step) ** 2)
    rest = step / math.sqrt(12) if deviation < NEARLY_NONE * step else 0.0
    return max(first_harmonic, rest)


NEARLY_NONE = 0.1  # steps; below, higher harmonics count


def before_rounding(observed: float, step: float) -> float:
    """The standard deviation of values before rounding, which added step^2 / 12 to their variance."""
    return math.sqrt(max(observed**2 - step**2 / 12, 0.0))
