# SPDX-License-Identifier: GPL-2.0-or-later
"""How often happed wakes the processor. Here time counts instructions, so the figures are the same on any host."""

from t61.cpufreq import Policy
from t61.happe import Happed
from t61.sessions import nobody_at_the_machine
from t61.waiting import spend

LONG_S = 300  # the unit's WatchdogSec is 120


def test_it_wakes_once_a_second_for_somebody_and_never_for_nobody(happed: Happed, policy: Policy) -> None:
    spend(LONG_S)
    woken, pid = happed.wake_ups(), happed.pid
    spend(LONG_S)
    assert happed.wake_ups() - woken <= LONG_S + 1

    nobody_at_the_machine()
    happed.wait_for("released")
    spend(1)
    woken = happed.wake_ups()
    spend(LONG_S)
    assert happed.wake_ups() == woken
    assert happed.pid == pid
    assert policy.governor == "ondemand"
