# SPDX-License-Identifier: GPL-2.0-or-later
"""Power models: a machine's watts by frequency and utilisation. Pure."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class PowerModel:
    """Watts by frequency (kHz, the rows, ascending) and utilisation (percent, the columns, ascending)."""

    machine: str
    measured: str
    frequencies_khz: tuple[int, ...]
    utilisations_percent: tuple[float, ...]
    watts: tuple[tuple[float, ...], ...]

    def at(self, khz: float, percent: float) -> float:
        """Watts at a frequency and utilisation: bilinear between the model's points, constant beyond its edges."""
        rows = [_straight(self.utilisations_percent, row, percent) for row in self.watts]
        return _straight(self.frequencies_khz, rows, khz)


def _straight(points: Sequence[float], values: Sequence[float], at: float) -> float:
    """Linear interpolation; beyond the ends the value at the end."""
    right = bisect_right(points, at)
    if right == 0:
        return values[0]
    if right == len(points):
        return values[-1]
    share = (at - points[right - 1]) / (points[right] - points[right - 1])
    return values[right - 1] + share * (values[right] - values[right - 1])


T61 = PowerModel(
    "Lenovo ThinkPad T61 of the paper, Table A.2",
    "2010",
    (800_000, 1_200_000, 1_600_000, 2_200_000, 2_300_000),
    (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100),
    (
        (24.40, 24.80, 25.22, 25.03, 25.37, 25.81, 25.81, 26.41, 26.60, 26.69, 26.74),
        (25.73, 26.02, 26.34, 25.95, 26.92, 27.40, 27.80, 27.92, 27.94, 28.15, 28.55),
        (26.14, 26.73, 27.30, 27.93, 28.55, 29.51, 29.86, 30.00, 30.50, 31.19, 32.27),
        (29.35, 30.01, 30.81, 31.91, 32.77, 33.79, 34.87, 36.00, 37.25, 38.52, 40.18),
        (30.72, 32.01, 33.07, 34.75, 35.55, 36.78, 39.06, 40.52, 42.24, 43.62, 45.04),
    ),
)
