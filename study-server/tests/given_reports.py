# SPDX-License-Identifier: GPL-2.0-or-later
"""An unblinded study that a report can be made of: four participants, all of their runs complete."""

from __future__ import annotations

import hashlib
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

import given_participants as people
import given_studies
import records
from given_devices import device, put_record, seat
from happe_study.access.rules import Caller, Who
from happe_study.base.clock import now_us
from happe_study.design.allocation.sealing import open_condition
from happe_study.design.study import Study
from happe_study.people.accounts.models import Account
from happe_study.results.reports import locks
from happe_study.results.reports.models import Report
from happe_study.results.reports.services import Stage, shown
from happe_study.results.unblinding import services as unblinding
from happe_study.runs.course.models import Run
from patience import until
from world import fixed_secrets

if TYPE_CHECKING:
    from pathlib import Path

    from world import World

PROTOCOL = given_studies.small("finished").replace("seconds = 120", "seconds = 20") + "\n[analysis]\nmargin = 0.25\n"
SAVED = {"T-HAPPE": 0.3, "O-HAPPE": 0.25, "B-HAPPE": 0.28}
RESAMPLES = 999


def finished(world: World, name: str = "finished", participants: int = 4, *, unblinded: bool = True) -> Study:
    """The study. What laptops record is what their conditions say."""
    study = given_studies.study(world, protocol=PROTOCOL.replace("finished", name))
    for _ in range(participants):
        _play(world, study)
    if unblinded:
        unblind(world, study)
    return study


def unblind(world: World, study: Study) -> None:
    """Unblind it."""
    with world.database.writing() as session:
        order = unblinding.Order(None, "the last participant is done", study.name)
        unblinding.unblind(session, session.get_one(Study, study.id), fixed_secrets(), order)


def _play(world: World, study: Study) -> None:
    row, _link = people.participant(world, study)
    laptop = device(world, study)
    seat(world, laptop, row.id)
    client = world.client(laptop.token)
    known: dict[str, list[int] | None] = {}
    for run in people.runs_of(world, row):
        people.answered(world, run.code, laptop)
        condition = open_condition(fixed_secrets().allocation, run.code, run.condition_sealed)
        kernel = condition.governor == "ondemand"
        before = known[run.application] if condition.governor[:2] in ("O-", "B-") else None
        record = records.make(run.code, 20, run.id, kernel=kernel, before=before) | {"indicator": condition.indicator}
        if not kernel:
            known[run.application] = record["profile_after"]
        assert put_record(client, record).status_code == HTTPStatus.CREATED


def measures(world: World, **changed: Any) -> bytes:  # noqa: ANN401 - fields of every measure
    """A document of the power of every run whose condition is known; HAPPE saves what SAVED says."""
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
}


def _watts(code: str, condition: str | None) -> float:
    noise = int(hashlib.sha256(code.encode()).hexdigest()[:4], 16) / 0xFFFF - 0.5
    return 40 * (1 - SAVED.get(condition or "", 0)) + 2 * noise


def waited(world: World, study: Study) -> list[Stage]:
    """How far a study's reports are, when none is being made any more."""
    parts = world.app.extensions["happe"]
    until(lambda: all(each.stage is not Stage.MAKING for each in shown(parts, study.id)), "the reports' end")
    return [each.stage for each in shown(parts, study.id)]


def caller(world: World, email: str) -> Caller:
    """An account as services know who calls."""
    with world.database.reading() as session:
        row = session.scalars(select(Account).where(Account.email == email)).one()
        return Caller(Who.STAFF, row.id, row.email)


def died(world: World, study: Study, email: str) -> None:
    """A report whose process has ended in the middle."""
    with world.database.writing() as session:
        report = Report(study_id=study.id, number=1, account_id=caller(world, email).id, requested_us=now_us())
        report.step, report.steps, report.doing = 4, 20, "exporting records"
        session.add(report)


def left_behind(data: Path, study_id: int) -> Path:
    """The folder of a report whose process has ended in the middle."""
    work = locks.work(data, study_id)
    (work / "export").mkdir(parents=True)
    (work / "export/finished-ratings.csv").write_text("run,rating\n")
    return work
