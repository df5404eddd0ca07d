# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulated T61 in virtual time: it has one processor, and its idle time takes no time of the host."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from t61.cpufreq import LADDER_KHZ, PERF_CTL, busy, perf_ctl
from t61.waiting import spend

if TYPE_CHECKING:
    from t61.cpufreq import Policy

MINUTES = 10


def test_one_processor_has_the_five_frequencies(policy: Policy) -> None:
    assert policy.read("affected_cpus") == "0"
    policy.governor = "userspace"
    for khz in LADDER_KHZ:
        policy.write("scaling_setspeed", khz)
        assert (policy.khz("scaling_cur_freq"), perf_ctl()) == (khz, PERF_CTL[khz])


def test_idle_time_is_exact_and_costs_nothing(policy: Policy) -> None:
    """Sleep for ten minutes. The host's limit for this boot is shorter."""
    policy.governor = "userspace"
    policy.write("scaling_setspeed", LADDER_KHZ[1])
    policy.reset_stats()
    begin = time.monotonic()
    spend(MINUTES * 60)
    assert abs(time.monotonic() - begin - MINUTES * 60) < 0.1
    assert abs(policy.time_in_state_s()[LADDER_KHZ[1]] - MINUTES * 60) < 0.5


def test_a_busy_processor_is_busy_whatever_the_host_does(policy: Policy) -> None:
    policy.reset_stats()
    with busy(0):
        spend(5)
        assert policy.share_at(LADDER_KHZ[-1]) > 0.9
