# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that are really full, and kill -9 at 50 random instants: a recording tells what it lost, and keeps the rest."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from given_sources import record, steady
from happe_power.recording import closing
from happe_power.trace import Trace
from happe_power.verify import verify
from patience import PATIENCE_S, spend, until
from power_program import happe_power, source_file
from small_disk import SmallDisk

pytestmark = pytest.mark.slow
SMALL = 4 << 20  # bytes of a disk
TINY = 700 << 10


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    """A disk that a recording of 2000 samples a second fills in no time."""
    (tmp_path / "disk").mkdir()
    made = SmallDisk(tmp_path / "disk", TINY)
    yield made
    made.close()


class Recording:
    """A recorder in its own process, which prints JSON, on a disk that is full once a part is closed."""

    def __init__(self, disk: SmallDisk, source: Path) -> None:
        """Record until there is a part, fill the disk, and wait until samples are lost."""
        self.lines: list[dict[str, Any]] = []
        where: list[str | Path] = [
            "--study",
            "a",
            "--no-upload",
            "--part-seconds",
            "1",
            "--duration",
            "60s",
            "--spool",
            disk.inside,
        ]
        words: list[str | Path] = [sys.executable, "-m", "happe_power", "record", "--source", source, "--json", *where]
        self._process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.before = self.until("", 2000)
        while not list(disk.inside.glob("*/*/parts/*.parquet")):
            self.before = self.until("", self.before)
        disk.fill()
        self.until("No space left", lost=1)
        (self.folder,) = (path.parent for path in disk.inside.glob("*/*/header.json"))

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

    def end(self) -> tuple[dict[str, Any], str, int]:
        """End it. Return its last line, its messages and its exit status."""
        self._process.send_signal(signal.SIGTERM)
        out, errors = self._process.communicate(timeout=PATIENCE_S)
        return json.loads(out.splitlines()[-1]), errors, self._process.returncode


def test_a_disk_that_fills_up_is_a_gap_and_the_recording_goes_on_when_there_is_room(
    tmp_path: Path, disk: SmallDisk
) -> None:
    recording = Recording(disk, source_file(tmp_path, rate=2000))
    disk.make_room()
    recording.until("", recording.before + 4000)
    last, _, status = recording.end()
    report = verify(recording.folder)
    assert status == 1  # samples were lost
    assert (report.problems, report.state) == ([], "ended")
    assert report.samples + report.lost == report.end_index
    assert last["lost"] == report.lost > 0


def test_a_disk_that_stays_full_ends_with_a_report_and_the_trace_is_ended_when_there_is_room(
    tmp_path: Path, disk: SmallDisk
) -> None:
    recording = Recording(disk, source_file(tmp_path, rate=2000))
    _, said, status = recording.end()
    disk.make_room()
    assert status == os.EX_IOERR
    assert "No space left on device" in said
    assert "verify --repair" in said
    before = verify(recording.folder)
    assert before.state == "open"
    assert happe_power("verify", "--repair", recording.folder).status == 0
    report = verify(recording.folder)
    assert (report.problems, report.state) == ([], "ended")
    assert report.samples >= before.samples > 0


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
        until(lambda: len(list(tmp_path.glob("*/*/*/header.json"))) >= COUNT, "all begin to record:")
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
