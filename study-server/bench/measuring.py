# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure how long a study's power takes with one worker and with two, and how much memory their jobs need.

A study on PostgreSQL has a run for each participant, each with a power trace of its own. Each worker does one job at a
time. What both measure must be the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import func, select

import given_jobs
import given_power
from crowd import migrated
from happe_study.base.config import SECRET_NAMES
from happe_study.evidence.documents.models import AnalysisDocument
from happe_study.evidence.measuring import services
from happe_study.evidence.traces.models import Trace
from happe_study.jobs.models import OPEN, JobState
from happe_study.operations.setting_up import write_secret
from postgres import cluster
from world import fixed_secrets

if TYPE_CHECKING:
    from happe_study.design.study import Study
    from world import World

RATE_HZ = 100_000
MIB = 1 << 20
LOOK_SECONDS = 0.05
SHARE = 0.5 * 1.25  # of one worker's time that two may take
GROWTH = 1.1  # of the largest process in the second half of the time, by that in the first


@dataclass
class Took:
    """How long it took, and the largest process of each half of it, in bytes."""

    seconds: float
    early: int
    late: int


def measured(world: World, study: Study, workers: int) -> tuple[Took, list[object]]:
    """Measure the study with so many workers; the measures."""
    log = world.config.data / "worker.log"
    with ExitStack() as stack:
        working = [stack.enter_context(given_jobs.Working(world.config, log)) for _ in range(workers)]
        while log.read_text().count("worker ready") < workers:
            time.sleep(LOOK_SECONDS)
        with world.database.writing() as session:
            number = services.begin(session, session.merge(study), None).id
        began = time.monotonic()
        seen: list[tuple[float, int]] = []
        while (job := given_jobs.job(world, number)).state in OPEN:
            sizes = [peak(pid) for each in working for pid in each.children()]
            seen.append((time.monotonic(), max(sizes, default=0)))
            time.sleep(LOOK_SECONDS)
        ended = time.monotonic()
    log.unlink()
    if job.state != JobState.DONE:
        raise SystemExit(f"the job is {job.state}: {job.failed}")
    half = (began + ended) / 2
    early, late = (max(size for at, size in seen if (at < half) == first) for first in (True, False))
    with world.database.reading() as session:
        content = session.scalars(select(AnalysisDocument.content)).one()
    return Took(ended - began, early, late), json.loads(content)["measures"]


def peak(pid: int) -> int:
    """The most memory that a process has had, in bytes; 0: it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def main() -> int:
    """Measure and print; with --judge the exit status says whether the bounds are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=32, help="a multiple of 4")
    parser.add_argument("--seconds", type=int, default=300, help="of a run")
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, cluster() as server:
        server.execute("CREATE DATABASE measuring")
        world = migrated(Path(name, "server"), server.url("measuring"))
        world.config.secrets_folder.mkdir(mode=0o700)
        for secret in SECRET_NAMES:
            write_secret(world.config.secrets_folder / f"{secret}.key", getattr(fixed_secrets(), secret))
        study = given_power.several(world, given.runs, seconds=given.seconds, rate_hz=RATE_HZ)
        given_power.unblind(world, study)
        with world.database.writing() as session:
            services.give_up(session, study)  # the unblinding asked for it
        with world.database.reading() as session:
            size = int(session.scalars(select(func.sum(Trace.stored_bytes))).one())
        print(f"{given.runs} traces, {size / MIB:.0f} MiB of parts")
        (one, by_one), (two, by_two) = (measured(world, study, workers) for workers in (1, 2))
        world.close()
    for workers, took in ((1, one), (2, two)):
        largest = f"largest process {took.early / MIB:.0f}, then {took.late / MIB:.0f} MiB"
        print(f"{workers} worker(s): {took.seconds:.1f} s, {size / MIB / took.seconds:.0f} MiB/s; {largest}")
    print(f"ratio {two.seconds / one.seconds:.2f}")
    if by_one != by_two or any("refused" in str(each) for each in by_one):
        raise SystemExit("the measures differ, or a run was refused")
    bad = two.seconds > SHARE * one.seconds or any(each.late > GROWTH * each.early for each in (one, two))
    return int(given.judge and bad)


if __name__ == "__main__":
    sys.exit(main())
