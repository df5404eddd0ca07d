# SPDX-License-Identifier: GPL-2.0-or-later
"""The levels of a UAFP, and a policy's ladder: docs/traces.md, Speed, Demand and Level.

Units are the trace's: kHz and ppm, all integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

LEVELS = 10
MILLION = 1_000_000


@dataclass(frozen=True)
class Ladder:
    """A policy's frequencies in kHz, ascending, and the real speeds of calibrated frequencies."""

    khz: tuple[int, ...]
    speeds: Mapping[int, int]

    def speed(self, khz: int) -> int:
        """The real speed at a frequency, in kHz."""
        return self.speeds.get(khz, khz)

    def level(self, util_ppm: int, cur_khz: int) -> int:
        """The level, 0 to 9, of a domain that consists of this policy, running at `cur_khz`."""
        return min(LEVELS - 1, util_ppm * self.speed(cur_khz) * LEVELS // (MILLION * self.speed(self.khz[-1])))
