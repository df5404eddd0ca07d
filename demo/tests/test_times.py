# SPDX-License-Identifier: GPL-2.0-or-later
"""The study's time runs like real time, and skips."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from happe_demo.laptop import PAD, Steps, padded
from happe_demo.times import HostClock, StudyTime

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3_600_000_000
YESTERDAY = time.time_ns() // 1000 - 24 * HOUR
PATIENCE = 60_000_000  # microseconds that a busy machine may take


def test_all_processes_see_one_time_that_skips_and_never_goes_back(tmp_path: Path) -> None:
    ours = StudyTime.begin(tmp_path / "time", YESTERDAY)
    theirs = StudyTime(tmp_path / "time")
    assert 0 <= theirs.now_us() - YESTERDAY < PATIENCE
    ours.skip_to(YESTERDAY + HOUR)
    skipped = theirs.now_us()
    assert 0 <= skipped - YESTERDAY - HOUR < PATIENCE
    ours.skip_to(YESTERDAY)
    assert theirs.now_us() >= skipped


def test_it_goes_on_as_time_does(tmp_path: Path) -> None:
    study = StudyTime.begin(tmp_path / "time", YESTERDAY)
    before, began = time.time_ns(), study.now_us()
    between = study.now_us() - began
    assert 0 <= between <= (time.time_ns() - before) // 1000 + 1


def test_at_the_end_it_is_the_present(tmp_path: Path) -> None:
    study = StudyTime.begin(tmp_path / "time", YESTERDAY)
    study.catch_up()
    assert abs(study.now_us() - time.time_ns() // 1000) < PATIENCE


def test_a_host_clock_is_off_and_drifts(tmp_path: Path) -> None:
    study = StudyTime.begin(tmp_path / "time", YESTERDAY)
    host = HostClock(study, YESTERDAY, 5_000_000, 80.0)
    assert host.of(YESTERDAY) == 5_000_000
    assert host.of(YESTERDAY + HOUR) == 5_000_000 + HOUR + 288_000


def test_the_length_of_a_record_does_not_tell_what_is_in_it() -> None:
    assert len(padded({"short": 1})) == len(padded({"long": list(range(9000))})) == PAD


def test_what_a_laptop_draws_is_said_where_it_changes() -> None:
    power = Steps()
    for at_us, milliwatts in ((0, 20), (40, 30), (80, 30), (120, 20)):
        power.add(at_us, milliwatts)
    assert power.steps == [[0, 20], [40, 30], [120, 20]]
