# SPDX-License-Identifier: GPL-2.0-or-later
"""A thread that is always busy, and moves from CPU to CPU.

usage: python -m t61.roaming CPUS FIRST PERIOD_S     begins on CPU FIRST and moves to the next one each period
                                                     PERIOD_S 0: stays there; CPUS 0: the scheduler places it
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from t61.load import busy_until

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def roaming(cpus: int, first: int, period_s: float) -> Iterator[None]:
    """Run such a thread meanwhile."""
    words = [sys.executable, "-B", "-m", "t61.roaming", str(cpus), str(first), str(period_s)]
    with subprocess.Popen(words, cwd=Path(__file__).parents[1]) as process:
        try:
            yield
        finally:
            process.kill()


def roam(cpus: int, cpu: int, period_s: float) -> None:
    """Roam until somebody kills the process."""
    moment = time.monotonic()
    while True:
        if cpus:
            os.sched_setaffinity(0, {cpu % cpus})
        moment += period_s or math.inf
        busy_until(moment)
        cpu += 1


if __name__ == "__main__":
    roam(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
