# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports the laptop's work to the measuring station in place of its current, because the emulated T61 draws none.

usage: python -m t61.telling LINE LOG     20 times a second "KHZ SHARE": what PERF_CTL holds, and how busy CPU 0 was;
                                          in the log after the microseconds of CLOCK_MONOTONIC
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from t61.cpufreq import PERF_CTL, perf_ctl
from t61.load import sleep_until

PERIOD_S = 0.05
KHZ = {value: khz for khz, value in PERF_CTL.items()}
IDLE, IO_WAIT = 3, 4  # columns of /proc/stat, in ticks


def ticks() -> tuple[int, int]:
    """Return CPU 0's ticks since the machine started: all, and the idle ones."""
    numbers = [int(word) for word in Path("/proc/stat").read_text().splitlines()[1].split()[1:9]]
    return sum(numbers), numbers[IDLE] + numbers[IO_WAIT]


def tell(line: Path, log: Path) -> None:
    """Report until the machine is off."""
    with line.open("wb", buffering=0) as told, log.open("w", buffering=1) as noted:
        before, share = ticks(), 0.0
        moment = time.monotonic()
        while True:
            sleep_until(moment := max(moment + PERIOD_S, time.monotonic()))
            now = ticks()
            if passed := now[0] - before[0]:
                share, before = 1 - (now[1] - before[1]) / passed, now
            said = f"{KHZ.get(perf_ctl(), min(PERF_CTL))} {min(max(share, 0.0), 1.0):.3f}\n"
            told.write(said.encode())
            noted.write(f"{time.monotonic_ns() // 1000} {said}")


if __name__ == "__main__":
    tell(Path(sys.argv[1]), Path(sys.argv[2]))
