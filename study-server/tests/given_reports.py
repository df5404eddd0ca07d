# SPDX-License-Identifier: GPL-2.0-or-later
"""An unblinded study for reports: four participants, and all their runs complete."""

import hashlib
import json
from typing import Any

from sqlalchemy import select

import given_participants as people
import given_profiles
import given_studies
from happe_study.model.jobs.models import Job
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from world import World

PROTOCOL = given_studies.small("finished").replace("seconds = 120", "seconds = 20") + "\n[analysis]\nmargin = 0.25\n"
SAVED = {"T-HAPPE": 0.3, "O-HAPPE": 0.25, "B-HAPPE": 0.28}


def finished(world: World, name: str = "finished", participants: int = 4, *, unblinded: bool = True) -> Study:
    """The study. Its records fit their conditions."""
    study = given_studies.study(world, protocol=PROTOCOL.replace("finished", name))
    for _ in range(participants):
        row, _link = people.participant(world, study)
        given_profiles.play(world, study, row, 10, presses=0.05, seed=100 * row.id, seconds=20)
    if unblinded:
        given_studies.unblind(world, study.name)
    return study


def measures(world: World, **changed: Any) -> bytes:  # noqa: ANN401 - fields of every measure
    """Measured power of every run whose condition is known. HAPPE saves the share in SAVED."""
    with world.database.reading() as session:
        runs = session.execute(
            select(Run.code, Run.condition).where(Run.condition.is_not(None)).order_by(Run.code)
        ).all()
    made = [{"run": code, "mean_w": _watts(code, condition), **_KNOWN, **changed} for code, condition in runs]
    return json.dumps({"format": "happe-power-measures/1", "measures": made}).encode()


_KNOWN = {
    "expanded_uncertainty": 0.1,
    "k": 2,
    "coverage": 1,
    "calibration": {"standing": "good", "says": "calibration rig of 2026-10-01, until 2027-10-01"},
    "instrument": {"kind": "bench_meter", "device": "bench meter 7"},
}


def _watts(code: str, condition: str | None) -> float:
    noise = int(hashlib.sha256(code.encode()).hexdigest()[:4], 16) / 0xFFFF - 0.5
    return 40 * (1 - SAVED.get(condition or "", 0)) + 2 * noise


def being_made(world: World, study: Study) -> None:
    """Add a report whose job has begun."""
    with world.database.writing() as session:
        job = Job(kind="report", study_id=study.id, asked_by="analyst@example.org", requested_us=1, state="running")
        job.arguments, job.lease, job.step, job.steps, job.doing = {"number": 1}, "x", 4, 20, "exporting records"
        session.add(job)
