# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-indicator is a unit: it starts and stops with the session, and systemd starts it at most five times."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from t61.user_manager import TARGET
from t61.waiting import spend, wait_until

if TYPE_CHECKING:
    from t61.happe import Happed
    from t61.sessions import Session
    from t61.user_manager import UserManager, UserUnit

SESSION = "light-session.target"
SWAY = "sway.service"
WINDOW = "weston-flower"
ONLY_AGENT = "happe-indicator shows nothing and only reports the application in front to happed"
BURST = 5  # starts that the unit allows


def serves(happed: Happed, application: str) -> None:
    """Wait until this application is in front."""
    wait_until(lambda: happed.property("Application") == application, f"{application} is in front")


def lasts_as_long_as_the_session(manager: UserManager, indicator: UserUnit, *first: str) -> None:
    """Start a session in which only the agent can work, wait until the journal has these words, and stop it."""
    manager.systemctl("start", SESSION)
    indicator.starts()
    for words in (*first, ONLY_AGENT):
        indicator.says(words, timeout_s=300.0)
    indicator.goes_on()
    manager.systemctl("stop", SESSION)
    indicator.stops()


def test_it_starts_and_stops_with_the_graphical_session(
    manager: UserManager, indicator: UserUnit, happed: Happed
) -> None:
    assert manager.property(TARGET, "ActiveState") == "inactive"
    assert indicator.state()["ActiveState"] == "inactive"
    for _ in range(2):
        manager.systemctl("start", SWAY)
        indicator.starts()
        indicator.says("in front: wlr-foreign-toplevel")
        manager.run("systemd-run", "--user", "--quiet", WINDOW)
        serves(happed, WINDOW)
        indicator.goes_on()
        manager.systemctl("stop", SESSION)
        indicator.stops()
        assert manager.property(TARGET, "ActiveState") == "inactive"
        manager.systemctl("stop", SWAY)
        serves(happed, "desktop")


def test_it_outlives_a_compositor_that_is_killed(manager: UserManager, indicator: UserUnit, happed: Happed) -> None:
    manager.systemctl("start", SWAY)
    indicator.starts()
    for _ in range(3):
        manager.run("systemd-run", "--user", "--quiet", WINDOW)
        serves(happed, WINDOW)
        manager.systemctl("kill", "--signal=KILL", SWAY)
        serves(happed, "desktop")
        manager.wait_for(SWAY, "failed")
        manager.systemctl("start", SWAY)
    manager.run("systemd-run", "--user", "--quiet", WINDOW)
    serves(happed, WINDOW)
    indicator.goes_on()
    manager.systemctl("stop", SESSION)
    indicator.stops()


def test_it_goes_on_without_any_display(manager: UserManager, indicator: UserUnit) -> None:
    lasts_as_long_as_the_session(manager, indicator, "no window system: neither WAYLAND_DISPLAY nor DISPLAY is set")


def test_it_goes_on_where_the_x_server_never_answers(manager: UserManager, indicator: UserUnit) -> None:
    manager.systemctl("start", "silent-x.socket")
    manager.set_environment("DISPLAY=:9")
    lasts_as_long_as_the_session(manager, indicator)


def test_it_starts_while_the_session_is_locked(
    alice: Session, manager: UserManager, indicator: UserUnit, happed: Happed
) -> None:
    alice.lock()
    wait_until(lambda: happed.property("Application") == "", "nobody is served")
    manager.systemctl("start", SWAY)
    indicator.starts()
    indicator.says("in front: wlr-foreign-toplevel")
    manager.run("systemd-run", "--user", "--quiet", WINDOW)
    assert happed.property("Application") == ""
    indicator.goes_on()
    alice.unlock()
    serves(happed, WINDOW)
    indicator.goes_on()


@pytest.mark.parametrize("display", ["sway", "silent-x"])
def test_it_stops_in_order_at_any_time(display: str, manager: UserManager, indicator: UserUnit) -> None:
    if display == "sway":
        manager.systemctl("start", SWAY)
    else:
        manager.systemctl("start", "silent-x.socket")
        manager.set_environment("DISPLAY=:9")
        manager.systemctl("start", SESSION)
    indicator.starts()
    for tenths in range(10):
        manager.systemctl("stop", indicator.unit)
        indicator.stops()
        manager.systemctl("reset-failed", indicator.unit)  # makes systemd forget how often it has started the unit
        manager.systemctl("start", indicator.unit)
        spend(tenths / 10)


def test_it_does_not_come_back_after_a_sigterm_of_its_users(manager: UserManager, indicator: UserUnit) -> None:
    manager.systemctl("start", SESSION)
    indicator.starts()
    indicator.says(ONLY_AGENT)
    manager.systemctl("kill", indicator.unit)
    indicator.stops()


def test_it_is_not_started_again_with_wrong_settings(manager: UserManager, indicator: UserUnit) -> None:
    settings = Path("/home/alice/.config/happe/indicator.toml")
    settings.parent.mkdir(parents=True)
    settings.write_text("colour = true\n")
    manager.systemctl("start", SESSION)
    manager.wait_for(indicator.unit, "failed")
    state = indicator.state()
    assert (state["ExecMainStatus"], state["NRestarts"]) == ("65", "0")


def test_it_is_started_five_times_when_something_kills_it(manager: UserManager, indicator: UserUnit) -> None:
    manager.systemctl("start", SESSION)
    kills = 0
    while indicator.state()["ActiveState"] != "failed":
        pid = indicator.state()["MainPID"]
        if pid != "0":
            kills += 1
            assert kills <= BURST, "systemd starts it again and again"
            manager.run("kill", "-KILL", pid)
            wait_until(lambda: indicator.state()["MainPID"] != pid, "it is gone")  # noqa: B023 - in this turn
    assert kills == BURST
