# SPDX-License-Identifier: GPL-2.0-or-later
"""Today's program upgrades a database and a folder that the code of version 0.1 wrote, and downgrades them again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

import given_traces
from happe_study import migrations
from happe_study.base.database import Database
from happe_study.runs.course.models import Run, RunRecord
from happe_study.runs.records.stored import opened
from operated import Operated
from patience import PATIENCE_S
from world import fixed_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from postgres import Postgres

pytestmark = pytest.mark.slow

COMMIT = "5954821"  # version 0.1.0
REVISION = "0009_traces_of_a_laptop"  # its last migration
ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("version_0_1.py")
# After the downgrade, version 0.1 reads profiles from records again, and lacks manifests' SHA-256 (0014, 0011).
LOST = {"run_records.taken_out", "traces.manifest_sha256"}
KEY = fixed_secrets().allocation
SOURCES = ("study-server", "packaging/cli", "profiles", "tests")
PATHS = ("study-server/src", "study-server/tests", "packaging/cli/src", "tests")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of version 0.1, from git."""
    tree = tmp_path_factory.mktemp("version_0_1")
    archive = subprocess.run(["git", "-C", ROOT, "archive", COMMIT, *SOURCES], check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
    return tree


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Operated]:
    """A server with an empty database."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'server.db'}"
    else:
        server: Postgres = request.getfixturevalue("postgres")
        server.execute("CREATE DATABASE version_0_1")
        url = server.url("version_0_1")
    made = Operated(tmp_path, url)
    yield made
    made.close()


def by_old_code(old: Path, *command: str | Path) -> str:
    """Run a command with the code of version 0.1, and return its output."""
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(str(old / each) for each in PATHS)}
    return subprocess.run(
        [sys.executable, "-P", *command],
        env={**variables, "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=old,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_S,
    ).stdout


Rows = dict[str, list[dict[str, str]]]


def rows(old: Path, server: Operated) -> Rows:
    """Every row, as version 0.1 reads it."""
    found: Rows = json.loads(by_old_code(old, SCRIPT, "rows", server.data, server.database_url))
    return found


def files(server: Operated) -> dict[str, bytes]:
    """The files of traces, by path."""
    return {
        str(path.relative_to(server.data)): path.read_bytes()
        for path in sorted((server.data / "traces").rglob("*"))
        if path.is_file()
    }


def require_all(server: Operated, made: dict[str, Any]) -> None:
    """Assert that all data of version 0.1 are there in today's form, and that today's checks find no fault."""
    checked = server.run("check", "--deep", "--json").json()
    assert [each for each in checked if each["verdict"] == "fail"] == []
    server.done("audit", "verify")
    assert all(name.endswith(".sealed") for name in files(server))
    with server.world.database.reading() as session:
        rows = session.execute(select(Run.code, RunRecord.document).join(RunRecord))
        records = {row.code: row.document for row in rows}
    for study in made.values():
        assert json.loads(opened(KEY, study["run"], records[study["run"]])) == study["record"]
        for part in study["parts"]:
            assert len(given_traces.kept(server.world, study["trace"], part["number"])) == part["bytes"]
    states = {each["study"]: each["state"] for each in server.done("study", "list", "--json").json()}
    assert states == {"blinded": "locked", "seen": "unblinded"}


def changed(before: Rows, after: Rows) -> set[str]:
    """The columns whose cells differ."""
    assert {table: len(each) for table, each in before.items()} == {table: len(each) for table, each in after.items()}
    return {
        f"{table}.{column}"
        for table, each in before.items()
        for one, other in zip(each, after[table], strict=True)
        for column in one
        if one[column] != other[column]
    }


def test_what_version_0_1_wrote_is_taken_over_and_given_back(old: Path, empty: Operated) -> None:
    # given
    made = json.loads(by_old_code(old, SCRIPT, "write", empty.data, empty.database_url))
    before, parts = rows(old, empty), files(empty)
    assert len(before["run_records"]) == len(made)
    assert parts
    # when
    empty.done("migrate")
    # then
    require_all(empty, made)
    # when it goes back to version 0.1
    empty.close()
    database = Database(empty.database_url)
    migrations.downgrade(database, REVISION, allocation=KEY, traces=empty.data / "traces")
    database.dispose()
    # then
    after = rows(old, empty)
    assert changed(before, after) == LOST
    assert files(empty) == parts
    program = "from happe_study.cli import main; main()"
    checked = json.loads(by_old_code(old, "-c", program, "--config", empty.file, "check", "--deep", "--json"))
    assert [each for each in checked if each["verdict"] == "fail"] == []
    # when it goes up again
    empty.done("migrate")
    # then
    require_all(empty, made)
