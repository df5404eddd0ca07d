# SPDX-License-Identifier: GPL-2.0-or-later
"""Workers do long work once, whatever happens to them."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

import given_jobs
import given_reports
from given_accounts import browser, post
from happe_study.base.clock import now_us
from happe_study.base.config import Config
from happe_study.model.jobs import services
from happe_study.model.jobs.models import JobState
from happe_study.model.jobs.work import GoneError, Work
from happe_study.model.results import FilePiece
from happe_study.model.rights import Role
from happe_study.operations.worker import sweep
from operated import Operated, Running
from patience import PATIENCE_S, is_running, until
from postgres import ON_BOTH
from world import World

PAGE = "/studies/finished"


def ask(world: World) -> FlaskClient:
    """An analyst who has asked for a report."""
    given_reports.finished(world, participants=1)
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    assert post(analyst, f"{PAGE}/report").status_code == HTTPStatus.SEE_OTHER
    return analyst


def elsewhere(world: World, folder: Path) -> Config:
    """The configuration of another machine with the same database and secrets."""
    secrets = world.config.secrets_folder
    folder.mkdir()
    return world.config.model_copy(update={"data": folder, "secrets": secrets})


@pytest.mark.slow
def test_a_job_takes_effect_once_though_its_worker_is_killed(operated: Operated, tmp_path: Path) -> None:
    world = operated.world
    ask(world)
    # Given a worker that is killed in the middle of a job
    here, log = world.config, tmp_path / "log"
    with given_jobs.Working(here, log) as first:
        until(lambda: given_jobs.job(world).step > 1, "the report's beginning")
        first.process.kill()
        first.process.wait()
    assert given_jobs.job(world).state == JobState.RUNNING
    # Then nobody takes its job while it may be alive
    assert services.take(world.database, "b:1") is None
    given_jobs.worker_died(world)
    # And another worker, on PostgreSQL on another machine, does the job
    with given_jobs.Working(here if world.database.is_sqlite else elsewhere(world, tmp_path / "b"), log) as second:
        ended = given_jobs.until_ended(world)
        assert (ended.state, ended.tries) == (JobState.DONE, 2), log.read_text()
        second.process.terminate()
        assert second.process.wait() == 0
        assert list(second.folder.glob("[0-9]*")) == []
    with world.database.reading() as session:
        pieces = [tuple(row) for row in session.execute(select(FilePiece.name, FilePiece.at))]
    assert ("report.html", 0) in pieces
    assert len(pieces) == len(set(pieces))
    # And its next start removes what the first worker left on its disk
    sweep(world.database, here.data)
    assert list((here.data / "jobs").glob("[0-9]*")) == []


@pytest.mark.slow
def test_a_job_that_is_cancelled_ends_and_one_of_a_worker_that_stops_waits(operated: Operated, tmp_path: Path) -> None:
    world = operated.world
    analyst = ask(world)
    with given_jobs.Working(world.config, tmp_path / "log") as worker:
        until(worker.children, "the job's process")
        (running,) = worker.children()
        os.kill(running, signal.SIGSTOP)  # or else the job could end before somebody cancels it
        # When somebody cancels the job
        assert "Cancel" in analyst.get(f"{PAGE}/report").text
        assert post(analyst, f"{PAGE}/jobs/1/cancel", page=f"{PAGE}/report").status_code == HTTPStatus.SEE_OTHER
        until(
            lambda: not is_running(running) and not list(worker.folder.glob("[0-9]*")), "the end of the job's process"
        )
        assert "cancelled" in analyst.get(f"{PAGE}/report").text
        # When somebody retries the job, and the worker stops in order
        operated.done("job", "retry", "1")
        until(lambda: given_jobs.job(world).step > 1, "the report's beginning")
        worker.process.terminate()
        assert worker.process.wait() == 0
    assert given_jobs.job(world).state == JobState.WAITING
    assert list(worker.folder.glob("[0-9]*")) == []
    with world.database.reading() as session:
        assert session.scalars(select(FilePiece.id)).all() == []
    assert {"job.cancelled", "job.retried"} <= set(world.actions())


@pytest.mark.slow
def test_a_server_does_jobs_by_itself_and_says_how_far_they_are(operated: Operated, tmp_path: Path) -> None:
    world = operated.world
    operated.configure(metrics_listen="off", listen="127.0.0.1:0")
    given_reports.finished(world, participants=1)
    analyst = browser(world, Role.ANALYST, email="analyst@example.org")
    post(analyst, f"{PAGE}/checks")
    with Running(operated.file, tmp_path) as server:
        server.until("worker ready")
        assert given_jobs.until_ended(world).state == JobState.DONE
        assert server.stop() == 0
        server.until("worker stopped")
    (listed,) = operated.done("job", "list", "--study", "finished", "--json").json()
    assert (listed["job"], listed["title"], listed["state"], listed["tries"]) == (1, "Checks", "done", 1)
    assert "analyst@example.org" in operated.done("job", "list").out
    again = operated.run("job", "retry", "1")
    assert (again.status, "The job is done: only one that failed" in again.err) == (65, True)
    assert operated.run("job", "cancel", "7").status == 66


@ON_BOTH
def test_only_who_holds_the_lease_changes_a_job(world: World) -> None:
    with world.database.writing() as session:
        number = services.ask(session, "checks", "anna@example.org").id
    # Given a worker that was cut off, and another that has begun its job
    parts = world.app.extensions["happe"]
    cut_off = services.take(world.database, "a:1")
    given_jobs.worker_died(world, number)
    other = services.take(world.database, "b:1")
    assert cut_off
    assert other
    assert cut_off.lease
    # Then the first can neither report on the job, nor end it, nor return it
    with pytest.raises(GoneError):
        Work(parts, cut_off, Path()).doing("too late")
    with pytest.raises(GoneError), Work(parts, cut_off, Path()).taking_effect() as session:
        raise AssertionError
    services.fail(world.database, number, cut_off.lease, "too late")
    assert not services.let_go(world.database, number, cut_off.lease)
    assert not services.beat(world.database, number, cut_off.lease)
    Work(parts, other, Path()).doing("half", 1, 2)
    # And the other ends it, once
    with Work(parts, other, Path()).taking_effect({"said": 1}):
        pass
    ended = given_jobs.job(world, number)
    assert (ended.state, ended.worker, ended.step, ended.result) == (JobState.DONE, "b:1", 1, {"said": 1})
    assert services.take(world.database, "a:1") is None


@pytest.mark.parametrize("jump_us", [-3_600_000_000, 3_600_000_000])
def test_a_clock_that_jumps_leaves_a_job_to_a_live_worker_and_takes_it_from_a_dead_one(
    world: World, monkeypatch: pytest.MonkeyPatch, jump_us: int
) -> None:
    with world.database.writing() as session:
        number = services.ask(session, "checks", "anna@example.org").id
    taken = services.take(world.database, "a:1")
    assert taken
    assert taken.lease
    clock_us = now_us() + jump_us
    monkeypatch.setattr(services, "now_us", lambda: clock_us)
    # Given a worker that gives a sign of life after the jump
    assert services.beat(world.database, number, taken.lease)
    assert services.take(world.database, "b:1") is None
    # When it gives none after the next jump, another takes the job
    clock_us += jump_us
    again = services.take(world.database, "b:1")
    assert again is not None
    assert again.id == number


def test_a_job_whose_process_always_dies_fails(world: World) -> None:
    with world.database.writing() as session:
        number = services.ask(session, "checks", "anna@example.org").id
    while (taken := services.take(world.database, "a:1")) is not None:
        assert taken.lease
        assert services.let_go(world.database, number, taken.lease)
    failed = given_jobs.job(world, number)
    assert (failed.state, failed.tries) == (JobState.FAILED, services.MOST_TRIES)
    assert "ended 5 times" in (failed.failed or "")


def test_the_newest_jobs_of_a_kind_stay(world: World) -> None:
    for _ in range(services.KEPT + 5):
        with world.database.writing() as session:
            services.ask(session, "checks", "anna@example.org").state = JobState.DONE
    with world.database.reading() as session:
        assert [job.id for job in services.of_study(session, None)] == list(range(25, 5, -1))


def test_jobs_are_cancelled_by_who_may_ask_for_them(world: World) -> None:
    analyst = ask(world)
    given_reports.finished(world, "other", participants=1)
    experimenter = browser(world, Role.EXPERIMENTER, email="e@example.org")
    assert post(experimenter, f"{PAGE}/jobs/1/cancel", page=PAGE).status_code == HTTPStatus.FORBIDDEN
    # The other study does not have this job
    assert post(analyst, "/studies/other/jobs/1/cancel", page=PAGE).status_code == HTTPStatus.NOT_FOUND
    told = post(analyst, f"{PAGE}/jobs/1/cancel", page=PAGE)
    assert told.location == f"{PAGE}/report"
    assert "Report 1 is cancelled." in analyst.get(told.location).text
    again = post(analyst, f"{PAGE}/jobs/1/cancel", page=PAGE)
    assert (again.status_code, "The job is cancelled already." in again.text) == (HTTPStatus.CONFLICT, True)


def test_a_job_begins_again_only_beside_no_other_of_its_kind(operated: Operated) -> None:
    world = operated.world
    analyst = ask(world)
    operated.done("job", "cancel", "1")
    post(analyst, f"{PAGE}/report")
    refused = operated.run("job", "retry", "1")
    assert (refused.status, "Another job of this kind" in refused.err) == (os.EX_DATAERR, True)
    operated.done("job", "cancel", "2")
    operated.done("job", "retry", "1")
    assert given_jobs.job(world).state == JobState.WAITING


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)  # SQLite has one writer at a time
def test_a_job_that_ends_while_the_command_line_cancels_it_keeps_its_result(operated: Operated) -> None:
    world, locked = operated.world, threading.Event()
    with world.database.writing() as session:
        number = services.ask(session, "checks", "anna@example.org").id
    running = given_jobs.taken(world)

    def end() -> None:
        with Work(world.app.extensions["happe"], running, Path()).taking_effect({"checks": []}):
            locked.set()
            until(world.waits, "the command, which waits")

    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(end)
        assert locked.wait(PATIENCE_S)
        ran = operated.run("job", "cancel", str(number))
        ended.result(PATIENCE_S)
    assert (ran.status, "The job is done already." in ran.err) == (os.EX_DATAERR, True)
    assert given_jobs.job(world, number).state == JobState.DONE
