# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulated T61 really sleeps (S3), and its clock wakes it."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

from t61.bus import Signals
from t61.cpufreq import LADDER_KHZ
from t61.waiting import wait_until

if TYPE_CHECKING:
    from t61.cpufreq import Policy

ASLEEP_S = 6


def test_it_sleeps_and_wakes(policy: Policy) -> None:
    policy.governor = "userspace"
    policy.write("scaling_setspeed", LADDER_KHZ[2])
    before = policy.state()
    with Signals("member='PrepareForSleep'") as signals:
        subprocess.run(["rtcwake", "-m", "no", "-s", str(ASLEEP_S)], check=True, stdout=subprocess.DEVNULL)
        away = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
        subprocess.run(["systemctl", "suspend"], check=True)
        assert signals.next()["payload"] == [True]
        assert signals.next(timeout_s=60)["payload"] == [False]
    assert time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic() > away + 1
    assert policy.state() == before
    wait_until(lambda: policy.khz("scaling_cur_freq") == LADDER_KHZ[2], "the target is back")
