# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-indicator's unit in GNOME's own session: gnome-session's units, GNOME Shell, and the extension HAPPE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from t61.user_manager import EVERY_S, TARGET
from t61.waiting import wait_until

if TYPE_CHECKING:
    import subprocess

    from t61.happe import Happed
    from t61.sessions import Session
    from t61.user_manager import UserManager, UserUnit

EXTENSION = "happe@happe.org"
SHELL = "org.gnome.Shell@wayland.service"
WINDOW = "weston-flower"
YOUNG = Path("/run/user/1000/gnome-shell-disable-extensions")
SLOW_S = 900.0  # an emulated processor draws GNOME Shell


# Leaves the overview, which GNOME Shell starts with and which gives no window the focus. Raises the window.
TO_FRONT = """
    Main.overview.hide();
    const window = global.get_window_actors().map(a => a.meta_window).find(w => !w.is_override_redirect());
    window?.activate(global.get_current_time());
    !Main.layoutManager._startingUp && !Main.overview.visible && window?.has_focus();
"""


def logs_into_gnome(alice: Session, manager: UserManager, indicator: UserUnit) -> subprocess.Popen[str]:
    """Start what a display manager starts. Return its process when the session is there."""
    environment = ("env", "XDG_SESSION_TYPE=wayland", "XDG_CURRENT_DESKTOP=GNOME")
    leader = alice.start(*environment, "gnome-session", "--session=shell", "--disable-acceleration-check")
    manager.wait_for(TARGET, "active", SLOW_S)
    indicator.starts()
    return leader


def opens_window(manager: UserManager) -> None:
    """Start a program, and wait until GNOME Shell has its window in front."""
    manager.run("systemd-run", "--user", "--quiet", WINDOW)
    wait_until(lambda: evaluate(manager, TO_FRONT) == "(true, 'true')", "GNOME Shell has it in front", SLOW_S, EVERY_S)


def evaluate(manager: UserManager, script: str) -> str:
    """Run JavaScript in GNOME Shell. Return whether it succeeded, and its value."""
    shell = ("gdbus", "call", "--session", "-d", "org.gnome.Shell", "-o", "/org/gnome/Shell")
    return manager.run(*shell, "-m", "org.gnome.Shell.Eval", script)


def serves(happed: Happed, application: str) -> None:
    """Wait until this application is in front."""
    wait_until(lambda: happed.property("Application") == application, f"{application} is in front", SLOW_S)


def test_it_follows_the_extension_and_the_session(
    alice: Session, manager: UserManager, indicator: UserUnit, happed: Happed
) -> None:
    leader = logs_into_gnome(alice, manager, indicator)
    indicator.says("in front: X11", SLOW_S)
    opens_window(manager)
    for _ in range(2):
        manager.run("gnome-extensions", "enable", EXTENSION)
        indicator.says("in front: GNOME", SLOW_S)
        serves(happed, WINDOW)
        manager.run("gnome-extensions", "disable", EXTENSION)
        serves(happed, "desktop")
    manager.run("gnome-extensions", "enable", EXTENSION)
    serves(happed, WINDOW)
    indicator.goes_on()

    # If the shell dies in its first minute, GNOME switches the extensions off. It ends the session with its shell.
    wait_until(lambda: not YOUNG.exists(), "the shell is a minute old", SLOW_S, EVERY_S)
    manager.systemctl("kill", "--signal=KILL", SHELL)
    indicator.stops(SLOW_S)
    manager.wait_for(TARGET, "inactive", SLOW_S)
    serves(happed, "desktop")
    leader.communicate(timeout=SLOW_S)
    manager.wait_for("gnome-session-restart-dbus.service", "inactive", SLOW_S)

    leader = logs_into_gnome(alice, manager, indicator)
    indicator.says("in front: GNOME", SLOW_S)
    opens_window(manager)
    serves(happed, WINDOW)
    indicator.goes_on()
    leader.terminate()
    indicator.stops(SLOW_S)
    leader.communicate(timeout=SLOW_S)
