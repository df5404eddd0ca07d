# SPDX-License-Identifier: GPL-2.0-or-later
"""The benchmark's very large study, made small, equals a study of the program, and all routes answer on it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, text

import large_study
import pages
from happe_study.audit.verify import verify_log
from happe_study.base.database import Database
from happe_study.migrations.tables import LearningEvent, Profile, Run, RunRecord, Study, TaughtRun, Uafp
from happe_study.operations.checking import Verdict, check
from happe_study.results.unblinding import services as unblinding
from happe_study.results.unblinding.services import Order
from happe_study.studies import services
from world import World, fixed_secrets

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

FEW = 16


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use as few participants as the design allows, and give the benchmark's server its modules."""
    monkeypatch.setattr(large_study, "FEW", FEW)
    monkeypatch.setattr(large_study, "PAIRS", 2)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def test_it_is_what_the_program_checks_and_unblinds(database_url: str, sqlite_template: Path, tmp_path: Path) -> None:
    # Given a blinded study on this database, and the same one unblinded
    config = pages.configured(tmp_path / "blinded", database_url)
    large_study.make(config.data, database_url, participants=FEW)
    other = tmp_path / "unblinded.db"
    other.write_bytes(sqlite_template.read_bytes())
    large_study.make(tmp_path / "unblinded", f"sqlite:///{other}", participants=FEW, unblinded=True)
    world, revealed = World(config.data, database_url), Database(f"sqlite:///{other}")
    (file := tmp_path / "server.toml").touch(0o600)

    # Then the checks find no fault,
    (config.data / "traces").chmod(0o700)
    found = list(check(file, config, world.database, deep=True))
    assert [each for each in found if each.verdict is Verdict.FAIL] == []
    assert _dangling(world.database) == []
    with revealed.reading() as session:
        assert verify_log(session).is_whole

    # and when the program unblinds it, every condition and lesson equals the benchmark's.
    with world.database.writing() as session:
        for name in (large_study.SMALL, large_study.LARGE):
            order = Order(None, "every run is complete", name)
            assert unblinding.unblind(session, services.find(session, name), fixed_secrets(), order).agrees
    assert _learned(world.database) == _learned(revealed)
    world.close()
    revealed.dispose()


@pytest.mark.parametrize(
    ("database_url", "state"), [("sqlite", "unblinded"), ("postgresql", "blinded")], indirect=["database_url"]
)
def test_every_route_answers_on_it_and_what_is_slow_is_told(
    database_url: str, tmp_path: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given
    config = pages.configured(tmp_path / "data", database_url)
    large_study.make(config.data, database_url, participants=FEW, unblinded=state == "unblinded")
    monkeypatch.setattr(pages, "MOST_MS", 0.0)
    monkeypatch.setattr(pages, "LOOKS", 1)

    # When the benchmark asks each route, and measures one
    result = pages.measured(config, tmp_path, pages.Wish("", state, rounds=1, requests=8, route="runs.list"))

    # Then
    assert result.errors == []
    assert {"audit_pages.verify", "export of runs"} <= {each.what for each in result.long}
    assert {row.route for row in result.rows} == {"runs.list_runs", "static"}
    assert all(row.p95_ms >= row.p50_ms > 0 and row.cpu_ms > 0 for row in result.rows)
    assert [miss for miss in result.misses if "p95" in miss] == [
        f"{row.route}: p95 {row.p95_ms:.0f} ms" for row in result.rows
    ]


def _dangling(database: Database) -> list[Any]:
    """Rows that refer to a missing row, because the benchmark writes without checks."""
    if not database.is_sqlite:
        return []
    with database.reading() as session:
        return list(session.execute(text("PRAGMA foreign_key_check")))


def _learned(database: Database) -> dict[str, list[Any]]:
    """The rows that an unblinding writes, by table, without columns in which two servers differ."""
    found: dict[str, list[Any]] = {}
    with database.reading() as session:
        conditions = select(Run.code, Run.study_id, Run.condition).order_by(Run.code)
        found["conditions"] = [tuple(row) for row in session.execute(conditions)]
        states = select(Study.name, Study.state, Study.seed, Study.salt).order_by(Study.name)
        found["studies"] = [tuple(row) for row in session.execute(states)]
        taken = select(Run.code, RunRecord.taken_out).join(RunRecord, RunRecord.run_id == Run.id).order_by(Run.code)
        found["records"] = [tuple(row) for row in session.execute(taken)]
        for model in (Uafp, LearningEvent, TaughtRun, Profile):
            names = [column.name for column in model.__table__.columns if column.name not in ("id", "last_us")]
            rows = session.execute(select(*(getattr(model, name) for name in names)))
            found[model.__name__] = sorted(map(repr, rows))
    return found
