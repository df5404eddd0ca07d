# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording on a small disk that fills up, in its own mount namespace.

usage: unshare --mount [--map-root-user] python record_in_space.py FOLDER CASE

CASE: full, full-to-the-end.

Prints JSON: the recorder's lines, its exit status and messages, and verify's reports.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER, CASE = Path(sys.argv[1]), sys.argv[2]
DISK = FOLDER / "disk"
SPOOL = DISK / "spool"
BALLAST = DISK / "ballast"
SOURCE = FOLDER / "source.toml"
PROGRAM = [sys.executable, "-m", "happe_power"]
OPTIONS: list[str | Path] = ["--study", "a", "--no-upload", "--part-seconds", "1", "--duration", "60s"]


def record() -> list[str | Path]:
    """Return the command of a recording."""
    return [*PROGRAM, "record", "--source", SOURCE, *OPTIONS, "--spool", SPOOL]


def run(*command: str | Path) -> None:
    """Run a tool."""
    subprocess.run(command, check=True)


def verify(*options: str) -> Any:  # noqa: ANN401 - JSON
    """Return verify's report of the trace."""
    folders = [path.parent for path in SPOOL.glob("*/*/header.json")]
    said = subprocess.run(
        [*PROGRAM, "verify", "--json", *options, *folders], stdout=subprocess.PIPE, text=True, check=False
    )
    return json.loads(said.stdout)[0] | {"status": said.returncode}


class Recording:
    """A recorder that prints JSON."""

    def __init__(self) -> None:
        """Start it."""
        self.lines: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [*record(), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def until(self, trouble: str, samples: int = 0, lost: int = 0) -> int:
        """Read lines until one has this trouble ("": none), more samples than these, and at least so many lost.

        Return its number of samples.
        """
        assert self._process.stdout
        for line in self._process.stdout:
            self.lines.append(json.loads(line))
            last = self.lines[-1]
            as_wanted = trouble in last["trouble"] if trouble else not last["trouble"]
            if as_wanted and last["samples"] > samples and last["lost"] >= lost:
                return int(last["samples"])
        raise AssertionError((self.lines, self._process.communicate()))

    def end(self) -> dict[str, Any]:
        """End it. Return its lines, messages and exit status."""
        self._process.send_signal(signal.SIGTERM)
        out, errors = self._process.communicate(timeout=300)
        return {"lines": self.lines, "last": out.splitlines()[-1], "said": errors, "status": self._process.returncode}


def fill() -> None:
    """Fill the disk to the last byte."""
    with BALLAST.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            return


def full(*, to_the_end: bool) -> dict[str, Any]:
    """Fill the disk, and make room while the recording goes on, or after its end."""
    recording = Recording()
    before = recording.until("", 2000)
    while not list(SPOOL.glob("*/*/parts/*.parquet")):
        before = recording.until("", before)
    fill()
    recording.until("No space left", lost=1)
    if not to_the_end:
        BALLAST.unlink()
        recording.until("", before + 4000)
    ended = recording.end()
    BALLAST.unlink(missing_ok=True)
    return ended | {"verified": verify(), "repaired": verify("--repair")}


DISK.mkdir()
SOURCE.write_text('kind = "sim"\nrate = 2000\n')
run("mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", DISK)
CASES = {
    "full": lambda: full(to_the_end=False),
    "full-to-the-end": lambda: full(to_the_end=True),
}
print(json.dumps(CASES[CASE]()))
