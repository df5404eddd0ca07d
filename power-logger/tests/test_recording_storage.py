# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that are really full, and kill -9 at 50 random instants: a recording tells what it lost, and keeps the rest."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from given_sources import record, steady
from happe_power.recording import closing
from happe_power.trace import Trace
from happe_power.verify import verify
from patience import PATIENCE_S, spend, until
from small_disk import SmallDisk

if TYPE_CHECKING:
    from collections.abc import Sequence


pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
SMALL = 4 << 20  # bytes of a disk
UNSHARE = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])  # not for root in a chroot


def happened(tmp_path: Path, case: str) -> Any:  # noqa: ANN401 - JSON
    """Return the output of record_in_space.py."""
    command: Sequence[str | Path] = [*UNSHARE, sys.executable, HERE / "record_in_space.py"]
    done = subprocess.run([*command, tmp_path, case], capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def lost_to_storage(seen: dict[str, Any]) -> int:
    """Assert that a trace is in order apart from gaps. Return how many indices it lost."""
    assert seen["verified"]["problems"] == []
    assert seen["verified"]["state"] == "ended"
    assert seen["verified"]["samples"] + seen["verified"]["lost"] == seen["verified"]["end_index"]
    return int(seen["verified"]["lost"])


def test_a_disk_that_fills_up_is_a_gap_and_the_recording_goes_on_when_there_is_room(tmp_path: Path) -> None:
    seen = happened(tmp_path, "full")
    assert seen["status"] == 1  # samples were lost
    assert lost_to_storage(seen) > 0
    assert json.loads(seen["last"])["lost"] == seen["verified"]["lost"]
    assert any("No space left" in line["trouble"] for line in seen["lines"])
    assert seen["lines"][-1]["trouble"] == ""


def test_a_disk_that_stays_full_ends_with_a_report_and_the_trace_is_ended_when_there_is_room(tmp_path: Path) -> None:
    seen = happened(tmp_path, "full-to-the-end")
    assert seen["status"] == os.EX_IOERR
    assert "No space left on device" in seen["said"]
    assert "verify --repair" in seen["said"]
    assert seen["verified"]["state"] == "open"
    assert (seen["repaired"]["state"], seen["repaired"]["problems"], seen["repaired"]["status"]) == ("ended", [], 0)
    assert seen["repaired"]["samples"] >= seen["verified"]["samples"] > 0


def test_a_recording_leaves_room_for_the_seal_and_what_the_uploader_notes(tmp_path: Path) -> None:
    disk = SmallDisk(tmp_path, SMALL)
    try:
        least = SMALL // 20
        (disk.inside / "filler").write_bytes(bytes(shutil.disk_usage(disk.inside).free - least + 4096))
        recorder = record(disk.inside, steady(1000.0, 100, 3.0))
        report = verify(recorder.folders[0])
        assert shutil.disk_usage(disk.inside).free > least / 2
    finally:
        disk.close()
    assert (report.problems, report.state, report.samples, report.lost) == ([], "ended", 0, 3000)


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
    assert [found.problem for found in closing.recover(spool)] == [""]
    (folder,) = (path.parent for path in spool.glob("*/*/header.json"))
    report = verify(folder)
    assert (report.problems, report.state) == ([], "ended")
    assert closed.items() <= digests(spool).items()
    trace = Trace.open(folder)
    assert all(gap.reason == "killed" for gap in trace.gaps)
    return (killed_us - trace.started.monotonic_us) / 1e6 - trace.end_index / RATE
