# SPDX-License-Identifier: GPL-2.0-or-later
"""The effect of the governor's package on a machine with systemd and cpufreq, from installation to purge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from evdev import ecodes

from t61.cpufreq import LADDER_KHZ, set_tunable
from t61.happe import CONFIGURATION, FOUND, UNIT, Happed
from t61.packages import debs, dpkg, machine, unit
from t61.sessions import command
from t61.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from t61.cpufreq import Policy
    from t61.keyboard import Keyboard
    from t61.sessions import Session

PACKAGE = "happe-governor"
SOCKET = "happed-keys.socket"
KEYS = ("--performance", "KEY_PROG1", "--power", "KEY_PROG2")


@pytest.fixture(autouse=True)
def cpufreq(policy: Policy, alice: Session) -> Iterator[dict[str, str]]:
    """The machine without HAPPE, with the owner's limits and tunables. A purge restores this state."""
    assert alice.identity
    policy.write("scaling_max_freq", LADDER_KHZ[3])
    set_tunable("up_threshold", 71)
    set_tunable("sampling_rate", 123_000)
    wait_until(lambda: policy.khz("scaling_max_freq") == LADDER_KHZ[3], "the owner's limit is in force")
    state, before = policy.state(), machine()
    assert before.running == []
    yield state
    dpkg("--purge", PACKAGE)
    after = machine()
    assert sorted(after.files.keys() ^ before.files.keys()) == []
    assert after == before
    assert policy.state() == state


def governs(happed: Happed, policy: Policy) -> None:
    """Wait until HAPPE governs."""
    happed.wait_for("governing")
    wait_until(lambda: policy.governor == "userspace", "HAPPE governs")


def teach(happed: Happed, policy: Policy, keyboard: Keyboard) -> None:
    """Alice asks for more speed, and gets it."""
    wait_until(lambda: policy.khz("scaling_setspeed") == LADDER_KHZ[1], "it begins in the middle of 2.3 GHz")
    keyboard.press(ecodes.KEY_PROG1)
    wait_until(lambda: policy.khz("scaling_setspeed") > LADDER_KHZ[1], "the frequency rises")
    wait_until(lambda: happed.call("ListEvents", "ssxu", "alice", "desktop", "0", "10")[0], "that is learned")


def learned() -> object:
    """Return the lessons that Alice has taught."""
    return json.loads(command("happectl", "profiles", "export", "--user", "alice"))["profiles"]


def test_from_installation_to_removal(cpufreq: dict[str, str], policy: Policy, keyboard: Keyboard) -> None:
    dpkg("--install", *debs(PACKAGE, old=True))
    assert policy.state() == cpufreq
    assert unit(UNIT) == unit(SOCKET) == ("inactive", "disabled")
    assert not FOUND.exists()

    command("happectl", "setup", "--yes", "--json", "--mode", "govern", *KEYS)
    happed = Happed()
    governs(happed, policy)
    assert unit(UNIT) == ("active", "enabled")
    happed.wait_for_keyboards(1)
    teach(happed, policy, keyboard)

    taught, configured, old = learned(), CONFIGURATION.read_text(), happed.pid
    dpkg("--install", *debs(PACKAGE))  # while it governs
    governs(happed, policy)
    assert happed.pid not in (0, old)
    assert learned() == taught
    assert CONFIGURATION.read_text() == configured

    dpkg("--remove", PACKAGE)  # while it governs
    assert policy.state() == cpufreq
    assert unit(UNIT)[0] == unit(SOCKET)[0] == "inactive"
    assert not FOUND.exists()
    assert not Path("/usr/sbin/happed").exists()
    assert "KEY_PROG1" in CONFIGURATION.read_text()
    assert Path("/var/lib/happe/profiles.db").is_file()
