# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies to report on, made by the real program."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Protocol

import pytest

ROOT = Path(__file__).resolve().parents[4]
HAPPE_SIM = Path(os.environ.get("HAPPE_SIM", ROOT / "build" / "bin" / "happe-sim"))
SEED = "2008"


class Simulate(Protocol):
    """Runs `happe-sim study` into a folder and returns the folder; later options win."""

    def __call__(self, folder: Path, protocol: str, participants: int, *more: str) -> Path:
        """Run the program."""


@pytest.fixture(scope="session")
def simulate() -> Simulate:
    """Return what runs the real program; without it, nothing here can pass."""
    if not HAPPE_SIM.exists():
        pytest.fail(f"{HAPPE_SIM} is missing: run make build (or set HAPPE_SIM)")

    def run(folder: Path, protocol: str, participants: int, *more: str) -> Path:
        words = ["study", "--protocol", protocol, "--participants", str(participants), "--quiet", "--out", str(folder)]
        seed = [] if "--seed" in more else ["--seed", SEED]
        subprocess.run([HAPPE_SIM, *words, *seed, *more], check=True, capture_output=True)
        return folder

    return run
