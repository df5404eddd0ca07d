# SPDX-License-Identifier: GPL-2.0-or-later
"""The installed happed, as systemd runs it."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from t61.cpufreq import LADDER_KHZ
from t61.sessions import command
from t61.waiting import wait_until

UNIT = "happed.service"
NAME = "org.happe.Governor1"
BUS = ("busctl", "--json=short")
OBJECT = (NAME, "/org/happe/Governor1", NAME)
FOUND = Path("/run/happe/found.json")
CONFIGURATION = Path("/etc/happe/happe.toml")


class Happed:
    """The daemon. It runs from the object's creation to stop()."""

    def __init__(self) -> None:
        """Start it, and wait until it is on the bus."""
        self.start()

    def start(self) -> None:
        """Start it again after a stop or a kill."""
        subprocess.run(["systemctl", "reset-failed", UNIT], check=False, stderr=subprocess.DEVNULL)
        command("systemctl", "start", UNIT)

    def stop(self) -> None:
        """Stop it. It must restore the machine and copy its database, all of which its unit allows."""
        command("systemctl", "stop", UNIT)
        result = command("systemctl", "show", "--property=Result", "--value", UNIT)
        if result != "success":
            raise AssertionError(f"happed ended with {result}")

    @property
    def pid(self) -> int:
        """Its process."""
        return int(command("systemctl", "show", "--property=MainPID", "--value", UNIT))

    def property(self, name: str) -> Any:  # noqa: ANN401 - a variant
        """Read a property as root."""
        return json.loads(command(*BUS, "get-property", *OBJECT, name))["data"]

    def call(self, method: str, *arguments: str) -> Any:  # noqa: ANN401 - whatever the method answers
        """Call a method as root and return its answer."""
        answer = command(*BUS, "call", *OBJECT, method, *arguments)
        return json.loads(answer)["data"] if answer else None

    def wait_for(self, state: str, timeout_s: float = 120.0) -> None:
        """Wait until it is in this state."""
        wait_until(lambda: self.property("State") == state, f"happed is {state}", timeout_s)

    def wait_for_keyboards(self, count: int) -> None:
        """Wait until it has this number of keyboards."""
        wait_until(lambda: self.property("Keyboards") == count, f"happed has {count} keyboards")

    def journal(self) -> list[dict[str, str]]:
        """Return the lines that it has logged since the machine started, with their fields."""
        lines = command("journalctl", "--boot", f"--unit={UNIT}", "--output=json", "--all").splitlines()
        return [json.loads(line) for line in lines]

    def wake_ups(self) -> int:
        """Return how often it has slept and woken up since it started."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def wants(happed: Happed, khz: int) -> None:
    """Teach this frequency for every level."""
    profile = {"user": "alice", "app": "desktop", "khz": [khz] * 10}
    document = {"format": "happe-profile/1", "f_max_khz": LADDER_KHZ[-1], "profiles": [profile]}
    happed.call("ImportProfiles", "ss", "alice", json.dumps(document))


@contextmanager
def no_restart() -> Iterator[None]:
    """Make systemd only restore the machine after a kill, and not start happed again."""
    override = Path(f"/run/systemd/system/{UNIT}.d/no-restart.conf")
    override.parent.mkdir(parents=True, exist_ok=True)
    override.write_text("[Service]\nRestart=no\n")
    command("systemctl", "daemon-reload")
    try:
        yield
    finally:
        override.unlink()
        command("systemctl", "daemon-reload")
