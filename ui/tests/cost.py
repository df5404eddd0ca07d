# SPDX-License-Identifier: GPL-2.0-or-later
"""Measures a running program's memory and wake-ups."""

import re
from contextlib import suppress
from pathlib import Path

from patience import spend


def resident_kib(pid: int) -> int:
    """Return a process's resident memory (VmRSS), shared libraries and all, in KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0])


def wake_ups(pid: int) -> dict[str, int]:
    """Return how often each of its threads has gone to sleep. This equals its wake-ups."""
    count = re.compile(r"^voluntary_ctxt_switches:\s+(\d+)", re.MULTILINE)
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended meanwhile
            found[task.name] = int(count.findall((task / "status").read_text())[0])
    return found


def wake_ups_in(pid: int, seconds: float) -> int:
    """Return how often it wakes up in a time. A thread also wakes up to end."""
    before = wake_ups(pid)
    spend(seconds)
    after = wake_ups(pid)
    return sum(after[task] - before.get(task, 0) for task in after) + len(before.keys() - after.keys())
