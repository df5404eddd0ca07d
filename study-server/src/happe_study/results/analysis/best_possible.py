# SPDX-License-Identifier: GPL-2.0-or-later
"""Comparing a saving with the best possible by frequency alone (section A.5.3).

At a utilisation, the best possible saving is 1 - P(lowest frequency) / P(highest frequency). P comes from the machine's
own power model, or else from Table A.2, the paper's ThinkPad T61, linear between the table's utilisations. The paper's
40.63 % is the T61's at 100 %; at 80 and 90 % it is 37.03 and 38.81 %. This does not count work that a slower processor
leaves undone, so with a saving above the best possible the processor did less work.
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
    """The best possible saving at a utilisation, and a saving's share of it, both as fractions."""

    utilisation_percent: float
    best: float
    share: float


def best(model: PowerModel, utilisation_percent: float) -> float:
    """The best possible saving at a utilisation, as a fraction."""
    lowest, highest = (
        float(np.interp(utilisation_percent, model.utilisations_percent, row))
        for row in (model.watts[0], model.watts[-1])
    )
    return 1 - lowest / highest


def bounds(model: PowerModel, saving: float, at: Sequence[float] = SHOWN_PERCENT) -> list[Bound]:
    """The bound at each utilisation (percent), with the share of it that `saving` reaches."""
    return [Bound(percent, best(model, percent), saving / best(model, percent)) for percent in at]
