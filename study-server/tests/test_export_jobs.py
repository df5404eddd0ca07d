# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports that workers make equal streamed ones. Only those who may export get them, and they go in time."""

from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

import given_jobs
import given_reports
import given_studies
from given_accounts import browser, post, token_of
from happe_study.base.tables import Format
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import JobState
from happe_study.model.participants import Participant
from happe_study.model.results import FilePiece
from happe_study.model.rights import Role
from happe_study.results import files
from happe_study.results.exports import job, services
from happe_study.results.withdrawal import services as withdrawal
from operated import Operated
from test_exports import BLINDED_TABLES
from world import World, fixed_secrets

PAGE = "/studies/finished/exports"
HEADERS = ("Content-Type", "Content-Disposition")


def ask(client: FlaskClient, form: Format = Format.CSV) -> None:
    assert post(client, PAGE, format=form).status_code == HTTPStatus.SEE_OTHER


def fetched(client: FlaskClient, number: int, table: str) -> TestResponse:
    return post(client, f"{PAGE}/{number}/{table}", page=PAGE)


def streamed(world: World, table: str, form: Format) -> TestResponse:
    program = world.staff(Role.ANALYST)
    return program.post(f"/api/v1/studies/finished/exports/{table}?format={form}", buffered=True)


def every_piece(world: World) -> list[tuple[Any, ...]]:
    with world.database.reading() as session:
        query = select(FilePiece.job_id, FilePiece.name, FilePiece.at).order_by(FilePiece.id)
        return [tuple(row) for row in session.execute(query)]


def test_a_file_of_a_job_is_what_the_server_streams(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given files of several pieces
    monkeypatch.setattr(files, "PIECE", 1000)
    study = given_reports.finished(world, participants=1)
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    for number, form in enumerate(Format, 1):
        # When
        ask(analyst, form)
        assert "It waits for a free worker" in analyst.get(PAGE).text
        assert given_jobs.work_off(world)[0] == JobState.DONE
        # Then
        page = analyst.get(PAGE).text
        for table in services.tables(study):
            file, same = fetched(analyst, number, table), streamed(world, table, form)
            assert file.data == same.data, (table, form)
            assert [file.headers[name] for name in HEADERS] == [same.headers[name] for name in HEADERS]
            assert file.headers["Content-Length"] == str(len(same.data))
            assert f'Download<span class="visually-hidden"> {table} of export {number}<' in page
    assert max(at for _job, _name, at in every_piece(world)) > 1
    # And the audit log has equal entries for both
    with world.database.reading() as session:
        query = select(AuditEntry.action, AuditDetail.detail).join(AuditDetail, AuditDetail.number == AuditEntry.number)
        entries = list(session.execute(query.where(AuditEntry.action.in_(("study.exported", "export.begun")))))
    noted = [detail for action, detail in entries if action == "study.exported"]
    assert len(noted) == len(Format) * len(services.tables(study)) * 2
    assert [each | {"by": ""} for each in noted[0::2]] == [each | {"by": ""} for each in noted[1::2]]
    assert {each["by"] for each in noted[0::2]} == {"staff:analyst@example.org"}
    assert [action for action, _detail in entries].count("export.begun") == len(Format)


def test_an_export_before_unblinding_has_no_more_than_what_was_open_then(world: World) -> None:
    study = given_reports.finished(world, participants=1, unblinded=False)
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    ask(analyst)
    assert given_jobs.work_off(world) == [JobState.DONE]
    opened = set(services.tables(study)) - BLINDED_TABLES
    before = {table: streamed(world, table, Format.CSV).data for table in opened}
    # When the study is unblinded, the same files are still there
    given_studies.unblind(world, study.name)
    for table in services.tables(study):
        file = fetched(analyst, 1, table)
        assert (file.status_code, file.data if table in opened else None) == (
            (HTTPStatus.OK, before[table]) if table in opened else (HTTPStatus.NOT_FOUND, None)
        )
    assert b",condition," not in before["runs"]


def test_who_may_not_export_gets_no_file_and_a_file_belongs_to_its_study(world: World) -> None:
    given_reports.finished(world, participants=1)
    given_studies.study(world, protocol=given_studies.small())
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    # When the format is wrong, or a job already makes an export
    assert post(analyst, PAGE, format="xlsx").status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    ask(analyst)
    again = analyst.post(PAGE, data={"csrf_token": token_of(analyst.get(PAGE)), "format": "csv"})
    assert (again.status_code, job.MAKING in again.text) == (HTTPStatus.CONFLICT, True)
    # Then there is no file until the job is done
    assert fetched(analyst, 1, "runs").status_code == HTTPStatus.NOT_FOUND
    given_jobs.work_off(world)
    for path, status in ((f"{PAGE}/1/runs", 200), (f"{PAGE}/1/secrets", 404), (f"{PAGE}/2/runs", 404)):
        assert post(analyst, path, page=PAGE).status_code == status
    assert post(analyst, "/studies/small/exports/1/runs", page=PAGE).status_code == HTTPStatus.NOT_FOUND


def test_exports_go_when_a_participant_withdraws(world: World) -> None:
    study = given_reports.finished(world, participants=2)
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    ask(analyst)
    given_jobs.work_off(world)
    assert every_piece(world)
    # Given another export, which a worker is making
    ask(analyst)
    making = given_jobs.taken(world)
    # When
    with world.database.writing() as session:
        leaving = session.scalars(select(Participant).where(Participant.study_id == study.id)).first()
        assert leaving
        withdrawal.withdraw(session, leaving, fixed_secrets(), None)
    # Then the server deletes the files at once, and the worker's job has no effect
    assert every_piece(world) == []
    assert fetched(analyst, 1, "runs").status_code == HTTPStatus.NOT_FOUND
    assert "of export 1" not in analyst.get(PAGE).text
    assert making.lease
    assert not jobs.beat(world.database, making.id, making.lease)


def test_files_go_after_some_days(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    given_reports.finished(world, participants=1)
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    ask(analyst)
    given_jobs.work_off(world)
    end = (given_jobs.job(world).finished_us or 0) + job.KEPT_US
    monkeypatch.setattr(job, "now_us", lambda: end - 1)
    job.remove_old(world.database)
    assert fetched(analyst, 1, "runs").status_code == HTTPStatus.OK
    monkeypatch.setattr(job, "now_us", lambda: end)
    # Then nobody gets the files, even before a worker has removed them
    assert fetched(analyst, 1, "runs").status_code == HTTPStatus.NOT_FOUND
    assert "The server removed its files" in analyst.get(PAGE).text
    assert every_piece(world)
    job.remove_old(world.database)
    assert every_piece(world) == []


def test_a_command_asks_for_an_export(operated: Operated, tmp_path: Path) -> None:
    world = operated.world
    study = given_reports.finished(world, participants=1)
    asked = operated.done("study", "export", "finished", "--job", "--format", "jsonl", "--json").json()
    assert asked == {"study": "finished", "job": 1}
    assert given_jobs.work_off(world) == [JobState.DONE]
    (listed,) = operated.done("job", "list", "--json").json()
    assert (listed["title"], listed["steps"]) == ("Export as jsonl", len(services.tables(study)))
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    assert fetched(analyst, 1, "samples").data == streamed(world, "samples", Format.JSON_LINES).data
    for arguments in ((), ("--job", "--out", tmp_path / "out"), ("--job", "--table", "runs")):
        wrong = operated.run("study", "export", "finished", *arguments)
        assert (wrong.status, "give either --out" in wrong.err) == (64, True)
