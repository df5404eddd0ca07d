# SPDX-License-Identifier: GPL-2.0-or-later
"""Decides whether a late time means lost samples, or only a late reading of the clock. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FARTHEST = 1000  # rows behind a late one that are examined
LEAST = 8
CLOCKS = 1e-3  # by which times and rows may disagree on the rate; COARSE allows for a coarse clock
COARSE = 0.5


def lost(times: NDArray[np.float64], row: int, missing: int) -> int:
    """How many samples are missing before a row whose time suggests `missing`.

    `times` are in periods: of the row before, of this row (at index `row`), and of those behind it. If samples were
    lost, all later times are late as well. If only one time is late, the times behind it catch up with the rows.
    """
    behind = times[row : row + min(FARTHEST, LEAST + 2 * missing)]
    late = behind - times[row - 1] - np.arange(1, len(behind) + 1)
    least = float(late.min())
    if least >= missing - COARSE - CLOCKS * len(behind):
        return missing
    return max(round(least), 0)
