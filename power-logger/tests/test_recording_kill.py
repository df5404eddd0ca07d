# SPDX-License-Identifier: GPL-2.0-or-later
"""kill -9 at 50 random instants: closed parts stay as they are, and the open part loses only a moment."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

from happe_power.recording import store
from happe_power.trace import Trace
from happe_power.verify import verify
from patience import spend, until

pytestmark = pytest.mark.slow

COUNT, RATE = 50, 2000
LEAST_S, MOST_S = 0.0, 5.0
MOST_LOST_S = 10.0  # the specification's limit
PART_S = 1.0


def digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each closed part."""
    found = {}
    for path in folder.glob("*/*/parts/[0-9]*.parquet"):
        found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def killed(pid: int, spool: Path) -> tuple[Path, int, dict[str, str]]:
    """Kill a recorder. Return its spool, the time by CLOCK_MONOTONIC, and the parts closed right before."""
    closed = digests(spool)
    os.kill(pid, signal.SIGKILL)
    return spool, time.monotonic_ns() // 1000, closed


def wait_for_headers(spools: Path) -> None:
    """Wait until all 50 recorders, which start at once, have begun a trace."""
    until(lambda: len(list(spools.glob("*/*/*/header.json"))) >= COUNT, "all begin to record:")


def test_kill_9_at_50_random_instants_loses_a_moment_and_nothing_that_was_closed(tmp_path: Path) -> None:
    chance = random.Random(50)
    children = subprocess.Popen(
        [sys.executable, Path(__file__).parent / "record_many.py", tmp_path, str(COUNT)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert children.stdout is not None
    with children:
        started = [children.stdout.readline().split() for _ in range(COUNT)]
        wait_for_headers(tmp_path)
        begun = time.monotonic()
        instants = sorted((chance.uniform(LEAST_S, MOST_S), int(pid), Path(spool)) for pid, spool in started)
        dead = []
        for instant, pid, spool in instants:
            spend(max(0.0, begun + instant - time.monotonic()))
            dead.append(killed(pid, spool))
    assert len(dead) == COUNT
    lost = [check(*each) for each in dead]
    print(f"lost at most {max(lost):.3f} s, in the median {median(lost):.3f} s")
    assert max(lost) <= MOST_LOST_S  # of a recorder that had to wait for the processor, too
    assert median(lost) <= PART_S


def check(spool: Path, killed_us: int, closed: dict[str, str]) -> float:
    """Recover a killed recorder's trace. Return how many seconds before the kill it lacks."""
    assert [found.problem for found in store.recover(spool)] == [""]
    (folder,) = (path.parent for path in spool.glob("*/*/header.json"))
    report = verify(folder)
    assert (report.problems, report.state) == ([], "ended")
    assert closed.items() <= digests(spool).items()
    trace = Trace.open(folder)
    assert all(gap.reason == "killed" for gap in trace.gaps)
    return (killed_us - trace.started.monotonic_us) / 1e6 - trace.end_index / RATE
