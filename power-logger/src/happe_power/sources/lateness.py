# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether a time that is late means lost samples, or only that somebody was late to read a clock. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

FARTHEST = 1000  # rows that are looked at behind a late one
LEAST = 8
CLOCKS = 1e-3  # by which times and rows may disagree on the rate, and half a period for how coarse they are
COARSE = 0.5


def lost(times: NDArray[np.float64], row: int, missing: int) -> int:
    """How many samples are missing right before a row whose time says that `missing` are.

    `times` are in periods, of this row, of the one before, and of those behind it. If samples were lost, all later
    times are late as well. If one time was only taken late, the times behind it catch up with the rows.
    """
    behind = times[row : row + min(FARTHEST, LEAST + 2 * missing)]
    late = behind - times[row - 1] - np.arange(1, len(behind) + 1)
    least = float(late.min())
    if least >= missing - COARSE - CLOCKS * len(behind):
        return missing
    return max(round(least), 0)
