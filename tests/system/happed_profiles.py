# SPDX-License-Identifier: GPL-2.0-or-later
"""happe-power-profiles on the same bus as happed, and programs that use it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from happed_wire import DESTINATION, INTERFACE, MEMBER, PATH, BusError, Peer
from happed_world import full_disks_kill_nobody
from patience import PATIENCE_S, until
from program import ROOT

if TYPE_CHECKING:
    from happed_world import World

MODERN = ("org.freedesktop.UPower.PowerProfiles", "/org/freedesktop/UPower/PowerProfiles")
LEGACY = ("net.hadess.PowerProfiles", "/net/hadess/PowerProfiles")
ACTIONS = [f"org.freedesktop.UPower.PowerProfiles.{name}" for name in ("switch-profile", "hold-profile")]


class Desktop:
    """A program that uses the power profiles."""

    def __init__(self, address: str, face: tuple[str, str] = MODERN) -> None:
        """Be on the bus."""
        self.peer = Peer.connect(address)
        self.name, self.path = face
        self.peer.bus("AddMatch", "s", f"type='signal',path='{self.path}'")

    def send(self, interface: str, member: str, signature: str, *values: Any) -> int:
        """Send a call and return its serial."""
        fields = {PATH: self.path, INTERFACE: interface, MEMBER: member, DESTINATION: self.name}
        return self.peer.send(fields, signature, *values)

    def __call__(self, member: str, signature: str, *values: Any) -> Any:
        """Call a method and return its result."""
        body = self.peer.reply(self.send(self.name, member, signature, *values)).body
        return body[0] if body else None

    def properties(self, member: str, signature: str, *values: Any) -> Any:
        """Call a method of the standard interface."""
        body = self.peer.reply(self.send("org.freedesktop.DBus.Properties", member, signature, *values)).body
        return body[0] if body else None

    def get(self, name: str) -> Any:
        """Return a property."""
        return self.properties("Get", "ss", self.name, name)

    def choose(self, profile: str) -> None:
        """Switch to a profile."""
        self.properties("Set", "ssv", self.name, "ActiveProfile", ("s", profile))

    def hold(self, profile: str, reason: str = "", application: str = "") -> int:
        """Hold a profile and return the cookie."""
        cookie: int = self("HoldProfile", "sss", profile, reason, application)
        return cookie

    def heard(self, member: str) -> list[Any]:
        """Wait for a signal of this name, and return its arguments."""
        while (message := self.peer.signal()).fields[MEMBER] != member:
            pass
        return message.body

    def refused(self, call: int) -> tuple[str, str]:
        """Make a call that the service must refuse. Return the last part of the error's name, and its message."""
        with pytest.raises(BusError) as refusal:
            self.peer.reply(call)
        return refusal.value.name.rpartition(".")[2], refusal.value.message

    def refused_choice(self, profile: str) -> tuple[str, str]:
        """Try to switch to a profile, and return the refusal."""
        interface = "org.freedesktop.DBus.Properties"
        return self.refused(self.send(interface, "Set", "ssv", self.name, "ActiveProfile", ("s", profile)))

    def refused_hold(self, *values: str) -> tuple[str, str]:
        """Try to hold a profile, and return the refusal."""
        return self.refused(self.send(self.name, "HoldProfile", "sss", *values))


class Service:
    """The program happe-power-profiles and its clients."""

    def __init__(self, world: World, folder: Path) -> None:
        """Not yet started."""
        self.world = world
        self.state = folder / "profile"
        self.log = folder / "profiles.log"
        self.program = Path(os.environ.get("HAPPE_POWER_PROFILES", ROOT / "build/bin/happe-power-profiles"))
        self.process: subprocess.Popen[bytes] | None = None
        self.desktops: list[Desktop] = []
        self.allow(*ACTIONS)

    def allow(self, *actions: str) -> None:
        """Let polkit allow these actions, and let users who are not root hold HAPPE off."""
        more = [f"org.happe.governor1.{action}" for action in ("hold", "run-study", "manage-profiles")]
        self.world.polkit("SetAllowed", "as", [*actions, *more])

    def launch(self) -> subprocess.Popen[bytes]:
        """Start it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.program, f"--state={self.state}"],
                env=self.world.bus.environment(),
                stdout=log,
                stderr=log,
                preexec_fn=full_disks_kill_nobody,  # noqa: PLW1509 - the tests have one thread
            )
        return self.process

    def start(self) -> Desktop:
        """Start it and wait until it has its names. Return a client."""
        process = self.launch()
        until(lambda: process.poll() is not None or self.world.there(LEGACY[0]), "it is on the bus")
        assert process.poll() is None, self.log.read_text()
        return self.desktop()

    def desktop(self, face: tuple[str, str] = MODERN) -> Desktop:
        """Return a client."""
        self.desktops.append(Desktop(self.world.address, face))
        return self.desktops[-1]

    def end(self, sent: int = signal.SIGTERM) -> int:
        """End it and return its exit status."""
        assert self.process
        self.process.send_signal(sent)
        status = self.process.wait(PATIENCE_S)
        until(lambda: not self.world.there(LEGACY[0]), "its names are gone")
        return status

    def close(self) -> None:
        """End everything."""
        for desktop in self.desktops:
            desktop.peer.close()
        if self.process and self.process.poll() is None:
            self.end()
