# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions for the tests of limits and of many policies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from happed_t61 import T61
    from happed_world import Client, Happed

from patience import until

MOST_READS_A_TURN = 8


def turns(happed: Happed, count: int, policies: int = 1) -> None:
    """Wait until happed has taken at least this number of turns."""

    def reads() -> int:
        counts = Path(f"/proc/{happed.pid}/io").read_text().split()
        return int(counts[counts.index("syscr:") + 1])

    before = reads()
    until(lambda: reads() >= before + count * policies * MOST_READS_A_TURN, "happed turns")


def always_wants(me: Client, khz: int, top: int = 2_300_000) -> None:
    """Teach this frequency for every level. `top` is the top of the fastest ladder."""
    profile = {"user": "me", "app": "desktop", "khz": [khz] * 10}
    document = {"format": "happe-profile/1", "f_max_khz": top, "profiles": [profile]}
    me("ImportProfiles", "ss", "", json.dumps(document))


def writes_of(machine: T61) -> dict[str, int]:
    """Return the time of the last write to each file."""
    return {f"{file.parent.name}/{file.name}": file.stat().st_mtime_ns for file in machine.cpus.rglob("scaling_*")}


def shows(machine: T61, file: str, khz: int) -> None:
    """Wait until this file has this frequency."""
    until(lambda: machine[file] == str(khz), f"{file} is {khz}, it is {machine[file]}")
