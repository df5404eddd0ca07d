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

from happe_study.evidence.documents.machines import T61, PowerModel

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SHOWN_PERCENT", "T61", "Bound", "PowerModel", "best", "bounds"]

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
