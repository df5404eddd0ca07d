# SPDX-License-Identifier: GPL-2.0-or-later
"""Stands in for a game: easy scenes and hard ones. Their frames take longer at a lower frequency.

usage: python -m t61.stand_in SCREEN       writes SMOOTH or SLOW to SCREEN at each frame, until somebody ends it

The emulated processor has the same speed at any frequency. So this program computes what a frame takes:
demand * top / f of its time.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from t61.cpufreq import Policy
from t61.load import FRAME_S, busy_until, sleep_until

if TYPE_CHECKING:
    from pathlib import Path

SMOOTH, SLOW = b"+", b"-"
STALE_S = 1.0
# Seconds, and the wanted part of the top speed: 0.8 GHz is enough for EASY, 1.6 GHz for HARD.
EASY, HARD = (2.0, 0.25), (60.0, 0.65)


def demand(after_s: float) -> float:
    """Return the part of the top speed that the scene wants."""
    return EASY[1] if after_s % (EASY[0] + HARD[0]) < EASY[0] else HARD[1]


def play(screen: int, policy: Policy) -> None:
    """Draw frames on an open file."""
    top = policy.khz("cpuinfo_max_freq")
    begin = time.monotonic()
    for frame in itertools.count():
        wanted = demand(frame * FRAME_S) * top / policy.khz("scaling_cur_freq")
        os.pwrite(screen, SLOW if wanted > 1 else SMOOTH, 0)
        start = begin + frame * FRAME_S
        busy_until(start + min(wanted, 1.0) * FRAME_S)
        sleep_until(start + FRAME_S)


def seen(screen: Path) -> bytes:
    """Return what is on the screen; nothing if no game draws there."""
    with suppress(FileNotFoundError):
        if time.time() - screen.stat().st_mtime < STALE_S:
            return screen.read_bytes()
    return b""


if __name__ == "__main__":
    play(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644), Policy())
