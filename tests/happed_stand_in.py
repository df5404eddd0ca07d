# SPDX-License-Identifier: GPL-2.0-or-later
"""A stand-in for happed (docs/dbus.md), and happectl as its client on a private bus."""

import subprocess
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patience import PATIENCE_S
from private_bus import PrivateBus, StandIn, stand_in
from program import ROOT

NAME = "org.happe.Governor1"
OBJECT = "/org/happe/Governor1"
INTERFACE = (ROOT / "profiles/org.happe.Governor1.xml").read_text()
T61_KHZ = [800_000, 1_200_000, 1_600_000, 2_200_000, 2_300_000]
UAFP_KHZ = [800_000] * 3 + [1_200_000] * 4 + [2_200_000] * 2 + [2_300_000]

GOVERNING: dict[str, Any] = {
    "Version": "0.1.0",
    "Backend": "setspeed",
    "Ladders": [[0, [0, 1], T61_KHZ]],
    "Domains": [[0]],
    "State": "governing",
    "Reason": "",
    "Limits": [],
    "Errors": [],
    "Database": "",
    "Settings": {
        "mode": ["s", "govern"],
        "period_ms": ["u", 1000],
        "algorithm.mode": ["s", "paper"],
        "algorithm.warm_start": ["b", False],
        "calibration": ["a{uu}", [[2_201_000, 2_300_000]]],
        "keys.performance": ["s", "KEY_PROG1"],
        "keys.power": ["s", "KEY_PROG2"],
        "mains.govern": ["b", True],
    },
    "Keyboards": 2,
    "Holds": [],
    "Savers": [],
    "Run": "",
    "Indicator": True,
    "Targets": [[0, 1_200_000]],
    "User": "alice",
    "Application": "torcs",
    "Profile": UAFP_KHZ,
    "Sample": [[0, 800_000, 970_000, 3]],
    "Descent": ["", 0, 0],
    "Fastest": 0,
}

# Nobody is served, or the caller must not see it.
HIDDEN: dict[str, Any] = {
    "Targets": [],
    "User": "",
    "Application": "",
    "Profile": [],
    "Sample": [],
    "Descent": ["", 0, 0],
    "Fastest": 0,
}


@dataclass(frozen=True)
class HappeCtl:
    """The client, on a bus of its own."""

    program: Path
    bus: PrivateBus

    def daemon(self, properties: dict[str, Any] | None = None, **answers: object) -> AbstractContextManager[StandIn]:
        """Put a stand-in for happed on the bus, with changes to GOVERNING's properties, and answers to methods."""
        there = {"xml": INTERFACE, "properties": {**GOVERNING, **(properties or {})}, "answers": answers}
        return stand_in(self.bus, NAME, {OBJECT: there})

    def run(
        self, *arguments: str | Path, stdin: str = "", cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run happectl to its end, in UTF-8 unless the environment says otherwise."""
        return subprocess.run(
            [self.program, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
            cwd=cwd,
            text=True,
            env=self.bus.environment(**{"LC_ALL": "C.UTF-8", "TZ": "XST-01:30", **environment}),
        )

    def start(self, *arguments: str | Path, **popen: Any) -> subprocess.Popen[str]:  # noqa: ANN401 - as Popen takes them
        """Start it."""
        options: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "text": True,
            "env": self.bus.environment(LC_ALL="C.UTF-8", TZ="XST-01:30", TERM="xterm"),
            **popen,
        }
        return subprocess.Popen([self.program, *arguments], **options)


def error(name: str, message: str) -> dict[str, list[str]]:
    """An answer that is one of happed's errors."""
    return {"error": [f"org.happe.Governor1.Error.{name}", message]}


def denied(message: str) -> dict[str, list[str]]:
    """An answer that is the bus's AccessDenied."""
    return {"error": ["org.freedesktop.DBus.Error.AccessDenied", message]}
