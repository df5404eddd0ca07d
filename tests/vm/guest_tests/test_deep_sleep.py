# SPDX-License-Identifier: GPL-2.0-or-later
"""happed on a machine that really sleeps."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from t61.cpufreq import LADDER_KHZ
from t61.waiting import wait_until

if TYPE_CHECKING:
    from t61.cpufreq import Policy
    from t61.happe import Happed

ASLEEP_S = 6
HOOK = Path("/usr/lib/systemd/system-sleep/look")
SEEN = Path("/run/governor-before-sleep")
SLEPT = Path("/sys/power/suspend_stats/success")


def test_it_gives_the_machine_back_before_sleep_and_governs_after(happed: Happed, policy: Policy) -> None:
    HOOK.parent.mkdir(parents=True, exist_ok=True)
    HOOK.write_text(f"#!/bin/sh\n[ $1 = pre ] && cat {policy.folder}/scaling_governor >{SEEN}\n:\n")
    HOOK.chmod(0o755)
    pid = happed.pid
    try:
        subprocess.run(["rtcwake", "-m", "no", "-s", str(ASLEEP_S)], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["systemctl", "suspend"], check=True)
        wait_until(lambda: SLEPT.read_text() == "1\n", "it has slept and woken up")
    finally:
        HOOK.unlink()
    assert SEEN.read_text().strip() == "ondemand"
    wait_until(lambda: policy.governor == "userspace", "it governs again")
    wait_until(lambda: policy.khz("scaling_cur_freq") == LADDER_KHZ[0], "and decides")
    assert happed.pid == pid
    assert happed.property("State") == "governing"
