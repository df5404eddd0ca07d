# SPDX-License-Identifier: GPL-2.0-or-later
"""Every migration goes up and down on both databases, and the last one agrees with the models."""

from __future__ import annotations

from uuid import UUID

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import DBAPIError

from happe_study import migrations
from happe_study.base.clock import now_us
from happe_study.base.database import Database
from happe_study.jobs.models import Job, JobState
from happe_study.migrations.tables import Base

RUN_WITH_RECORD = """
    INSERT INTO studies (id, name, title, protocol, protocol_sha256, state, created_us)
    VALUES (:other, :name, 'x', 'x', 'x', 'locked', 1);
    INSERT INTO participants (id, study_id, code, state, created_us) VALUES (:id, :other, :name, 'enrolled', 1);
    INSERT INTO runs
    (id, participant_id, code, position, attempt, application, phase, seconds, state, condition_sealed)
    VALUES (:id, :id, :name, 1, 1, 'x', 'main', 1, 'rated', 'x');
    INSERT INTO run_records (id, run_id, client_id, digest, document, received_us, taken_out)
    VALUES (:id, :id, :client, 'x', 'x', 1, :id = 0)
"""


@pytest.fixture
def database(database_url: str) -> Database:
    return Database(database_url)


def test_a_migrated_database_is_what_the_models_say(database: Database) -> None:
    with database.engine.connect() as connection:
        opts = {"compare_type": True, "include_object": _is_ours}
        context = MigrationContext.configure(connection, opts=opts)
        assert compare_metadata(context, Base.metadata) == []
    database.dispose()


def _is_ours(_object: object, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:  # noqa: FBT001 - Alembic's
    return kind != "table" or not str(name).startswith("procrastinate_")


def test_every_migration_goes_down_and_up_again(database: Database) -> None:
    tables = set(inspect(database.engine).get_table_names())
    revisions = ["0001", "0002", "0003_custodians", "0004_sealed_records", "0005_profiles", "0006_reports"]
    revisions += ["0008_large_studies", "0014_reviews", "0015_jobs"]
    for revision in revisions:
        migrations.downgrade(database, revision)
        assert migrations.current(database) == revision
        migrations.upgrade(database)
    migrations.downgrade(database, "base")
    assert inspect(database.engine).get_table_names() == ["alembic_version"]
    migrations.upgrade(database)
    assert migrations.current(database) == migrations.head()
    assert set(inspect(database.engine).get_table_names()) == tables
    database.dispose()


@pytest.mark.parametrize("statement", ["UPDATE audit_entries SET action = 'x'", "DELETE FROM audit_entries"])
def test_the_database_refuses_to_change_the_audit_log(database: Database, statement: str) -> None:
    with database.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO audit_entries (number, at_us, action, detail_sha256, chain_sha256) "
                "VALUES (1, 1, 'a', 'b', 'c')"
            )
        )
    with pytest.raises(DBAPIError, match="append-only"), database.engine.begin() as connection:
        connection.execute(text(statement))
    database.dispose()


def test_a_role_of_an_older_server_is_held_since_the_upgrade_and_no_old_token_is_fresh(database: Database) -> None:
    # Given
    migrations.downgrade(database, "0002")
    with database.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO accounts (id, email, active, password_given, fs_uniquifier, created_us) "
                "VALUES (1, 'carl@example.org', :yes, :no, 'x', 1)"
            ),
            {"yes": True, "no": False},
        )
        connection.execute(text("INSERT INTO grants (id, account_id, role) VALUES (1, 1, 'custodian')"))
        columns = "(id, sha256, kind, account_id, created_us)"
        connection.execute(text(f"INSERT INTO tokens {columns} VALUES (1, 'x', 'account', 1, 1)"))  # noqa: S608 - ours
    before_us = now_us()

    # When
    migrations.upgrade(database)

    # Then
    with database.engine.connect() as connection:
        assert connection.scalar(text("SELECT granted_us FROM grants")) >= before_us
        assert connection.scalar(text("SELECT proven_us FROM tokens")) is None
        assert connection.scalar(text("SELECT password_given_us FROM accounts")) is None
    database.dispose()


def test_runs_of_an_older_server_know_their_study_and_lose_nothing(database: Database) -> None:
    # Given two studies, each with a run that has a record
    migrations.downgrade(database, "0006_reports")
    with database.engine.begin() as connection:
        for number in (1, 2):
            values = {"id": number, "other": 3 - number, "name": f"study-{number}", "client": str(UUID(int=number))}
            for statement in RUN_WITH_RECORD.split(";"):
                connection.execute(text(statement), values)

    # When
    migrations.upgrade(database)

    # Then
    with database.engine.connect() as connection:
        asked = "SELECT runs.id, runs.study_id, client_id IS NOT NULL FROM runs JOIN run_records ON run_id = runs.id"
        rows = connection.execute(text(f"{asked} ORDER BY runs.id")).all()
        assert [tuple(row) for row in rows] == [(1, 2, True), (2, 1, True)]
    database.dispose()


def test_a_report_of_an_older_server_is_one_that_a_job_made(database: Database) -> None:
    # Given a finished report, and one whose process had died
    migrations.downgrade(database, "0014_reviews")
    with database.engine.begin() as connection:
        for statement in REPORTS.split(";"):
            connection.execute(text(statement), {"no": False, "content": b"{}"})
    found = {}
    for up in (True, False):
        # When
        (migrations.upgrade if up else migrations.downgrade)(database, "head" if up else "0014_reviews")
        # Then each is there with its file, also after a downgrade
        asked = "SELECT number, finished_us, failed FROM reports"
        asked += " JOIN jobs ON jobs.id = job_id" if up else ""
        with database.engine.connect() as connection:
            found[up] = [tuple(row) for row in connection.execute(text(asked + " ORDER BY number"))]
            assert connection.execute(text("SELECT report_id, name FROM report_files")).all() == [(7, "results.json")]
    assert found[True] == [(1, 3, None), (2, None, "The server was stopped.")]
    assert found[False] == found[True]
    database.dispose()


REPORTS = """
    INSERT INTO studies (id, name, title, protocol, protocol_sha256, state, created_us)
    VALUES (1, 'x', 'x', 'x', 'x', 'unblinded', 1);
    INSERT INTO accounts (id, email, active, password_given, fs_uniquifier, created_us)
    VALUES (1, 'anna@example.org', :no, :no, 'x', 1);
    INSERT INTO reports (id, study_id, number, account_id, requested_us, finished_us, step, steps, doing)
    VALUES (7, 1, 1, 1, 2, 3, 20, 20, '');
    INSERT INTO reports (id, study_id, number, account_id, requested_us, step, steps, doing)
    VALUES (8, 1, 2, 1, 4, 3, 20, 'exporting keys');
    INSERT INTO report_files (id, report_id, name, media_type, content)
    VALUES (1, 7, 'results.json', 'application/json', :content)
"""


def test_going_down_removes_jobs_that_the_program_before_does_not_know(database: Database) -> None:
    # given an export, a backup and a check
    with database.writing() as session:
        for kind in ("export", "backup", "checks"):
            session.add(Job(kind=kind, asked_by="ana", arguments={}, requested_us=1, state=JobState.DONE))
    # when
    migrations.downgrade(database, "0024_pieces_of_jobs")
    # then
    with database.engine.connect() as connection:
        assert connection.execute(text("SELECT kind FROM jobs")).all() == [("checks",)]
    database.dispose()


def test_going_down_fails_a_job_in_pieces_so_that_people_can_retry_it(database: Database) -> None:
    # given a job that waits for one of two pieces
    with database.writing() as session:
        common = {"kind": "checks", "asked_by": "ana", "arguments": {}, "requested_us": 1}
        whole = Job(**common, state=JobState.RUNNING)
        session.add(whole)
        session.flush()
        session.add_all(Job(**common, whole_id=whole.id, state=state) for state in (JobState.DONE, JobState.WAITING))
    # when the database goes to the revision before pieces
    migrations.downgrade(database, "0023_sites")
    # then the job alone is left, and has failed
    with database.engine.connect() as connection:
        assert connection.execute(text("SELECT state FROM jobs")).all() == [("failed",)]
    database.dispose()
