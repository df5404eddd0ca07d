# SPDX-License-Identifier: GPL-2.0-or-later
"""Work for CPU 0 with exact times."""

import os
import time
from collections.abc import Callable, Sequence

from t61.waiting import spend


def busy_until(moment: float) -> None:
    """Keep the processor busy until a moment of CLOCK_MONOTONIC."""
    while time.monotonic() < moment:
        pass


def sleep_until(moment: float) -> None:
    """Sleep until a moment of CLOCK_MONOTONIC."""
    if (left := moment - time.monotonic()) > 0:
        spend(left)


def play(begin: float, seconds: Sequence[float], presses: Sequence[tuple[float, Callable[[], None]]]) -> None:
    """From `begin` on, be busy for the given part of each second, at its start. Press keys at (seconds after begin)."""
    os.sched_setaffinity(0, {0})
    waiting = sorted(presses, key=lambda press: press[0])
    for index, part in enumerate(seconds):
        sleep_until(begin + index)
        for end, wait in ((begin + index + part, busy_until), (begin + index + 1, sleep_until)):
            while waiting and begin + waiting[0][0] < end:
                after, press = waiting.pop(0)
                wait(begin + after)
                press()
            wait(end)
