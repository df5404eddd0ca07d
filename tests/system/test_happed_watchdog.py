# SPDX-License-Identifier: GPL-2.0-or-later
"""What happed tells systemd's watchdog."""

import contextlib
import socket
from dataclasses import dataclass
from pathlib import Path

import pytest

from happed_world import MY_SESSION, Happed, World
from patience import PATIENCE_S

pytestmark = pytest.mark.slow


@dataclass
class Watched(Happed):
    """happed under a watchdog."""

    @property
    def environment(self) -> dict[str, str]:
        """Return happed's environment, as systemd extends it."""
        return {**super().environment, "NOTIFY_SOCKET": str(self.folder / "notify"), "WATCHDOG_USEC": "120000000"}


def test_the_watchdog_is_off_until_somebody_is_served(happed_program: Path, world: World, tmp_path: Path) -> None:
    """While nobody is served, happed sleeps. systemd begins with the watchdog on."""
    world.activate("")
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd,
        contextlib.closing(Watched(happed_program, world, tmp_path)) as happed,
    ):
        systemd.settimeout(PATIENCE_S)
        systemd.bind(str(tmp_path / "notify"))
        happed.start()
        told = [""]
        while not told[-1].startswith("READY=1"):
            told.append(systemd.recv(4096).decode())
        assert "WATCHDOG_USEC=0" in told
        world.activate(MY_SESSION)
        while told[-1] != "WATCHDOG_USEC=120000000":
            told.append(systemd.recv(4096).decode())
