# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed happed, as systemd runs it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from t61.sessions import command
from t61.waiting import wait_until

UNIT = "happed.service"
NAME = "org.happe.Governor1"
BUS = ("busctl", "--json=short")
OBJECT = (NAME, "/org/happe/Governor1", NAME)
FOUND = Path("/run/happe/found.json")
CONFIGURATION = Path("/etc/happe/happe.toml")


class Happed:
    """The daemon, running from when this is made until stop()."""

    def __init__(self) -> None:
        """Start it; it is on the bus when this returns."""
        self.start()

    def start(self) -> None:
        """Start it again after it was stopped or killed."""
        subprocess.run(["systemctl", "reset-failed", UNIT], check=False, stderr=subprocess.DEVNULL)
        command("systemctl", "start", UNIT)

    def stop(self) -> None:
        """Stop it; what it found is restored when this returns."""
        command("systemctl", "stop", UNIT)

    @property
    def pid(self) -> int:
        """Its process."""
        return int(command("systemctl", "show", "--property=MainPID", "--value", UNIT))

    def property(self, name: str) -> Any:  # noqa: ANN401 - a variant
        """A property as root sees it."""
        return json.loads(command(*BUS, "get-property", *OBJECT, name))["data"]

    def call(self, method: str, *arguments: str) -> Any:  # noqa: ANN401 - whatever the method answers
        """Call a method as root; what it answers."""
        answer = command(*BUS, "call", *OBJECT, method, *arguments)
        return json.loads(answer)["data"] if answer else None

    def wait_for(self, state: str, timeout_s: float = 120.0) -> None:
        """Wait until it is in this state."""
        wait_until(lambda: self.property("State") == state, f"happed is {state}", timeout_s)

    def wait_for_keyboards(self, count: int) -> None:
        """Wait until it has so many keyboards."""
        wait_until(lambda: self.property("Keyboards") == count, f"happed has {count} keyboards")

    def journal(self) -> list[dict[str, str]]:
        """What it has written since the machine started, with its fields."""
        lines = command("journalctl", "--boot", f"--unit={UNIT}", "--output=json", "--all").splitlines()
        return [json.loads(line) for line in lines]

    def wake_ups(self) -> int:
        """How often it has slept and been woken since it started."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])
