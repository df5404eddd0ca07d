# SPDX-License-Identifier: GPL-2.0-or-later
"""A screen reader's view of a program: real AT-SPI, on a bus of its own."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from subprocess import CalledProcessError
from typing import Any

from desktop import AS_USER, Desktop
from patience import PATIENCE_S, until
from program import ROOT

LAUNCHER = "/usr/libexec/at-spi-bus-launcher"
READER = ("/usr/bin/python3", str(ROOT / "ui/tests/screen_reader.py"))
# The environment in which a Qt program reports its elements at once, even without a screen reader.
TELLS = {"QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}


@dataclass(frozen=True)
class ScreenReader:
    """Reads the accessible elements of a program."""

    desktop: Desktop
    session_bus: str
    name: str

    @classmethod
    @contextlib.contextmanager
    def beside(cls, desktop: Desktop, session_bus: str, name: str) -> Iterator["ScreenReader"]:
        """Run AT-SPI for the session of the tests' user; read the program of this name."""
        launcher = desktop.start(*AS_USER, LAUNCHER, "--launch-immediately", DBUS_SESSION_BUS_ADDRESS=session_bus)
        address = ("busctl", f"--address={session_bus}", "call", "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus")

        def runs() -> bool:
            with contextlib.suppress(CalledProcessError):  # no program has that name yet
                return bool(desktop.ask(*AS_USER, *address, "GetAddress"))
            return False

        until(runs, "AT-SPI runs")
        try:
            yield cls(desktop, session_bus, name)
        finally:
            launcher.terminate()  # at SIGTERM it ends its bus; after a kill the bus would stay
            launcher.wait(PATIENCE_S)

    def _ask(self, *words: str) -> str:
        bus = f"DBUS_SESSION_BUS_ADDRESS={self.session_bus}"
        return self.desktop.ask(*AS_USER, "env", bus, *READER, self.name, *words)

    def elements(self) -> list[dict[str, Any]]:
        """Return the visible elements, each with its role, name, description and states."""
        found: list[dict[str, Any]] = json.loads(self._ask())
        return found

    def names(self, role: str) -> list[str]:
        """Return the names of the elements of this role."""
        return [element["name"] for element in self.elements() if element["role"] == role]

    def box(self, name: str) -> set[str]:
        """Return the states of the check box of this name."""
        [states] = [each["states"] for each in self.elements() if (each["role"], each["name"]) == ("check box", name)]
        return set(states)

    def focused(self) -> str:
        """Return the name of the element that has the keyboard; empty if none has."""
        names = [element["name"] for element in self.elements() if "focused" in element["states"]]
        return next(filter(None, names), "")

    def press(self, name: str) -> None:
        """Press the element of this name."""
        self._ask("press", name)
