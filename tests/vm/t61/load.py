# SPDX-License-Identifier: GPL-2.0-or-later
"""Work for CPU 0 with exact times."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from t61.waiting import spend

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from t61.cpufreq import Policy

FRAME_S = 0.05


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


def game(policy: Policy, demands: Sequence[float]) -> dict[int, tuple[float, float]]:
    """Play a game that wants these parts of the top speed, one a second, in frames of 50 ms.

    Work that takes a share d of the time at the top frequency takes d * top / f at f, at most the whole time. Returns
    seconds and busy seconds at each kHz.
    """
    os.sched_setaffinity(0, {0})
    top = policy.khz("cpuinfo_max_freq")
    spent: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    begin = time.monotonic()
    for frame in range(round(len(demands) / FRAME_S)):
        khz = policy.khz("scaling_cur_freq")
        duty = min(1.0, demands[int(frame * FRAME_S)] * top / khz)
        start = begin + frame * FRAME_S
        busy_until(start + duty * FRAME_S)
        sleep_until(start + FRAME_S)
        spent[khz][0] += FRAME_S
        spent[khz][1] += duty * FRAME_S
    return {khz: (seconds, busy) for khz, (seconds, busy) in spent.items()}
