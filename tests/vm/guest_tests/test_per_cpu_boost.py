# SPDX-License-Identifier: GPL-2.0-or-later
"""Boost comes and goes on the real kernel: happed uses it when it comes, and leaves no limit behind."""

import os
import signal

import pytest

from t61 import firmware
from t61.cpufreq import CPUFREQ, LADDER_KHZ, Policy, set_online, without_userspace
from t61.happe import FOUND, Happed, no_restart, wants
from t61.waiting import wait_until

BOOSTED = 1  # the number of the CPU and its policy
NOMINAL, TOP = LADDER_KHZ[-2:]
FILE = "scaling_max_freq"


def boost(policy: Policy, *, on: bool) -> None:
    """Switch it. The driver asks the firmware for the table when the CPU comes on line; requests stay."""
    firmware.platform_says({firmware.Reading.WITHOUT_BOOST: int(not on)})
    set_online(BOOSTED, online=False)
    set_online(BOOSTED, online=True)
    table = LADDER_KHZ if on else LADDER_KHZ[:-1]
    listed = [int(khz) for khz in policy.read("scaling_available_frequencies").split()]
    assert sorted(listed) == table


def shows(policy: Policy, khz: int) -> None:
    """Wait until this limit is in force."""
    wait_until(lambda: policy.khz(FILE) == khz, f"{FILE} is {khz}", timeout_s=60)


@pytest.mark.usefixtures("alice")
def test_boost_that_comes_back_is_used_and_no_limit_is_left() -> None:
    policy = Policy(BOOSTED)
    policies = [Policy(int(each.name.removeprefix("policy"))) for each in CPUFREQ.glob("policy*")]
    with without_userspace(policies), no_restart():
        for by_a_kill in (False, True):
            boost(policy, on=False)
            shows(policy, NOMINAL)
            happed = Happed()
            happed.wait_for("governing")
            wants(happed, LADDER_KHZ[0])
            shows(policy, LADDER_KHZ[0])
            if by_a_kill:
                os.kill(happed.pid, signal.SIGKILL)
            else:
                happed.stop()
            wait_until(lambda: not FOUND.exists(), "nothing is left to restore")
            shows(policy, NOMINAL)
            boost(policy, on=True)
            shows(policy, TOP)

        boost(policy, on=False)
        happed = Happed()
        happed.wait_for("governing")
        wants(happed, TOP)
        boost(policy, on=True)
        wait_until(lambda: [BOOSTED, TOP] in happed.property("Targets"), "happed uses it")
        shows(policy, TOP)
        assert happed.property("Limits") == []
        policy.write(FILE, LADDER_KHZ[2])  # another program's, which stays
        wait_until(lambda: len(happed.property("Limits")) == 1, "happed follows it")
        boost(policy, on=False)
        happed.stop()
        boost(policy, on=True)
        shows(policy, LADDER_KHZ[2])
        policy.write(FILE, TOP)
