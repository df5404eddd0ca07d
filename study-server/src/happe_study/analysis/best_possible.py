# SPDX-License-Identifier: GPL-2.0-or-later
"""How close a saving is to the best possible by frequency alone (section A.5.3).

At a utilisation the best possible is 1 - P(lowest frequency) / P(highest frequency), of the machine's own calibration
(a power model) or else of Table A.2, the paper's ThinkPad T61. Between the table's utilisations powers are straight
lines. The paper's 40.63 % is the T61's at 100 %; at 80 and 90 % it is 37.03 and 38.81 %. Work that a slower processor
does not get done is not counted, so a saving above the best possible says that less was done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from happe_study.analysis.documents import PowerModel

if TYPE_CHECKING:
    from collections.abc import Sequence

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
SHOWN_PERCENT = (80.0, 90.0, 100.0)  # "above 80 %"


@dataclass(frozen=True)
class Bound:
    """The best possible saving at a utilisation, and which part of it a saving is; fractions."""

    utilisation_percent: float
    best: float
    share: float


def best(model: PowerModel, utilisation_percent: float) -> float:
    """The best possible saving at a utilisation, a fraction."""
    lowest, highest = (
        float(np.interp(utilisation_percent, model.utilisations_percent, row))
        for row in (model.watts[0], model.watts[-1])
    )
    return 1 - lowest / highest


def bounds(model: PowerModel, saving: float, at: Sequence[float] = SHOWN_PERCENT) -> list[Bound]:
    """The bound at each utilisation, and how close a saving is to it."""
    return [Bound(percent, best(model, percent), saving / best(model, percent)) for percent in at]
