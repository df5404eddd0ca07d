# SPDX-License-Identifier: GPL-2.0-or-later
"""The power of a T61 by Table A.2 of the paper, because the emulated T61 draws none."""

from __future__ import annotations

# Watts at 0 %, 10 % ... 100 % of CPU 0 while CPU 1 is idle, for each kHz.
TABLE_A2 = {
    800_000: [24.40, 24.80, 25.22, 25.03, 25.37, 25.81, 25.81, 26.41, 26.60, 26.69, 26.74],
    1_200_000: [25.73, 26.02, 26.34, 25.95, 26.92, 27.40, 27.80, 27.92, 27.94, 28.15, 28.55],
    1_600_000: [26.14, 26.73, 27.30, 27.93, 28.55, 29.51, 29.86, 30.00, 30.50, 31.19, 32.27],
    2_200_000: [29.35, 30.01, 30.81, 31.91, 32.77, 33.79, 34.87, 36.00, 37.25, 38.52, 40.18],
    2_300_000: [30.72, 32.01, 33.07, 34.75, 35.55, 36.78, 39.06, 40.52, 42.24, 43.62, 45.04],
}


def watts(khz: int, utilisation: float) -> float:
    """Interpolate Table A.2 along the utilisation, 0 to 1."""
    row = TABLE_A2[khz]
    left = min(int(utilisation * 10), 9)
    return row[left] + (utilisation * 10 - left) * (row[left + 1] - row[left])
