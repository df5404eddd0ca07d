# SPDX-License-Identifier: GPL-2.0-or-later
"""systemd's watchdog ends happed only when happed hangs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from t61.happe import Happed
from t61.sessions import nobody_at_the_machine
from t61.waiting import spend

if TYPE_CHECKING:
    from t61.cpufreq import Policy

LONG_S = 300  # the unit's WatchdogSec is 120


def test_it_sleeps_undisturbed_until_somebody_logs_in(policy: Policy) -> None:
    nobody_at_the_machine()
    happed = Happed()
    pid = happed.pid
    spend(LONG_S)
    assert happed.pid == pid
    assert policy.governor == "ondemand"
    happed.stop()
