# SPDX-License-Identifier: GPL-2.0-or-later
"""The program under test."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class HappeSim:
    """The simulator."""

    program: Path

    def run(self, *arguments: str, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run it to its end. Its output is bytes, because tests compare bytes. Fails if the program is missing."""
        if not self.program.is_file():
            pytest.fail(f"{self.program} is missing: `make build` makes it, and HAPPE_SIM may name another")
        command = [str(self.program), *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, check=False, timeout=PATIENCE_S, cwd=cwd)

    def replay(self, trace: bytes) -> subprocess.CompletedProcess[bytes]:
        """Run `happe-sim replay -` with the trace on standard input."""
        return self.run("replay", "-", stdin=trace)
