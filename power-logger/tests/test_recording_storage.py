# SPDX-License-Identifier: GPL-2.0-or-later
"""Disks that are really full: the recorder reports it clearly, and continues when there is room."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from given_sources import record, steady
from happe_power.verify import verify
from patience import PATIENCE_S
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
