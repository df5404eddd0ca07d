# SPDX-License-Identifier: GPL-2.0-or-later
"""A minute of sigrok's demo device, recorded by the program."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "build/bin/happe-power"
DEMO = "sigrok:demo:logic_channels=0:analog_channels=2,channels=A0+A1,rate=20000"
MINUTE_S = 60


@dataclass(frozen=True)
class Minute:
    """A recording that goes on for a minute."""

    process: subprocess.Popen[str]
    spool: Path


def begin(spool: Path) -> Minute:
    """Start it."""
    words: list[str | Path] = ["record", "--source", DEMO, "--study", "demo", "--spool", spool]
    options = ["--duration", f"{MINUTE_S}s", "--no-upload", "--no-zero-check", "--json"]
    return Minute(subprocess.Popen([PROGRAM, *words, *options], stdout=subprocess.PIPE, text=True), spool)
