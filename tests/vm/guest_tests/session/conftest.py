# SPDX-License-Identifier: GPL-2.0-or-later
"""Alice with her own systemd, which has happe-indicator installed and enabled, and desktops for her to start."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from t61.sessions import log_in
from t61.user_manager import UserManager, UserUnit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from t61.happe import Happed
    from t61.sessions import Session

HERE = Path(__file__).parent
UNITS_OF_PEOPLE = Path("/home/alice/.config")
UNITS = Path("/etc/systemd/user")
# Files beside this one, and where they lie in the guest.
FILES = {
    "headless.conf": UNITS / "org.gnome.Shell@wayland.service.d",
    "light-session.target": UNITS,
    "shell.conf": UNITS / "gnome-session@shell.target.d",
    "shell.session": Path("/usr/share/gnome-session/sessions"),
    "silent-x.service": UNITS,
    "silent-x.socket": UNITS,
    "sway.conf": Path("/etc/sway"),
    "sway.service": UNITS,
}


@pytest.fixture(scope="session", autouse=True)
def desktops() -> None:
    """Install units and settings with which desktops run without a screen."""
    for name, folder in FILES.items():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / name, folder)


@pytest.fixture
def alice() -> Iterator[Session]:
    """Alice, logged in on tty1 to a graphical session."""
    session = log_in("alice", vt=1, session_type="wayland")
    yield session
    session.close()


@pytest.fixture
def manager(alice: Session) -> Iterator[UserManager]:
    """Alice's systemd, before anything runs in it."""
    one = UserManager(alice)
    yield one
    one.end()
    shutil.rmtree(UNITS_OF_PEOPLE, ignore_errors=True)


@pytest.fixture
def indicator(manager: UserManager, happed: Happed) -> UserUnit:
    """The indicator's unit, which waits for a graphical session. happed governs."""
    happed.wait_for("governing")
    one = UserUnit(manager, "happe-indicator.service")
    manager.systemctl("enable", one.unit)
    return one
