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

UNITS_OF_PEOPLE = Path("/home/alice/.config")


@pytest.fixture(scope="session", autouse=True)
def desktops() -> None:
    """Install units and settings with which desktops run without a screen."""
    shutil.copytree(Path(__file__).parent / "root", "/", dirs_exist_ok=True)


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
