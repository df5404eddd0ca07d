# SPDX-License-Identifier: GPL-2.0-or-later
"""`happe-server job` and `happe-server worker`: long work, and who does it."""

import os
from datetime import UTC, datetime
from typing import Any

import click
from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_cli.commands import Command, Group, examples, json_option, print_answer
from happe_cli.errors import Failure
from happe_study.base.problems import Problem
from happe_study.cli import named
from happe_study.cli.server import Server, pass_server
from happe_study.model.audit.chain import append
from happe_study.model.jobs import services
from happe_study.model.jobs.models import Job, JobState
from happe_study.model.studies import Study
from happe_study.operations import worker as working
from happe_study.operations.worker import KINDS

MORE = """Reports, exports, checks, measuring power and backups are jobs. Their pages show how far they are. A job takes
effect once, even if its worker is killed: another one begins it again.

Examples:
  happe-server job list
  happe-server job cancel 12
  happe-server job retry 12"""

WORKER = """`happe-server run` has a worker of its own; `jobs` of the configuration says how many it does at a time.
This command adds another one; with PostgreSQL also on another machine with the same secrets. If a worker
dies, another one does its jobs after half a minute. It stops on SIGTERM, SIGINT or Ctrl-C; unfinished jobs
wait for another worker.

Examples:
  happe-server worker
  happe-server worker --jobs 4
  systemctl enable --now happe-server-worker"""


@click.group(cls=Group, epilog=MORE)
def job() -> None:
    """Jobs, such as reports and exports: list, cancel and retry them."""


number_argument = click.argument("number", type=click.IntRange(1), metavar="NUMBER")


@job.command("list", epilog=examples("happe-server job list", "happe-server job list --study crossover --json"))
@click.option("--study", metavar="STUDY", help="Only jobs of this study")
@json_option
@pass_server
def list_(server: Server, study: str | None, as_json: bool) -> None:  # noqa: FBT001 - click's flag
    """List jobs, the newest first."""
    with server.reading() as session:
        query = select(Job, Study.name).outerjoin(Study, Study.id == Job.study_id)
        query = query.order_by(Job.id.desc())
        if study is not None:
            query = query.where(Job.study_id == named.study(session, study).id)
        rows = [_facts(each, name) for each, name in session.execute(query)]
    titles = ("number", "study", "job", "state", "asked for", "by", "")
    print_answer(rows, [titles, *map(_line, rows)], as_json=as_json)


def _facts(each: Job, study: str | None) -> dict[str, Any]:
    facts = {name: getattr(each, name) for name in ("state", "asked_by", "step", "steps", "doing", "failed", "tries")}
    times = {name: getattr(each, name) for name in ("requested_us", "started_us", "finished_us")}
    return {"job": each.id, "study": study, "kind": each.kind, "title": KINDS[each.kind].titled(each), **facts, **times}


def _line(row: dict[str, Any]) -> tuple[str, ...]:
    when = datetime.fromtimestamp(row["requested_us"] / 1e6, UTC).strftime("%Y-%m-%d %H:%M")
    far = (
        f"{row['step']} of {row['steps']}: {row['doing']}" if row["state"] == JobState.RUNNING else row["failed"] or ""
    )
    return str(row["job"]), row["study"] or "-", row["title"], row["state"], when, row["asked_by"], far


@job.command(epilog=examples("happe-server job cancel 12"))
@number_argument
@pass_server
def cancel(server: Server, number: int) -> None:
    """End a waiting or running job, so that it has no effect."""
    with server.writing() as session:
        found = _found(session, number)
        services.cancel(found)
        append(session, "job.cancelled", None, study_id=found.study_id, job=number, kind=found.kind)


@job.command(epilog=examples("happe-server job retry 12"))
@number_argument
@pass_server
def retry(server: Server, number: int) -> None:
    """Begin a failed or cancelled job again."""
    with server.writing() as session:
        found = _found(session, number, to_retry=True)
        services.retry(session, found)
        append(session, "job.retried", None, study_id=found.study_id, job=number, kind=found.kind)


def _found(session: Session, number: int, *, to_retry: bool = False) -> Job:
    try:
        return services.find(session, number, to_retry=to_retry)
    except Problem:
        raise Failure(os.EX_NOINPUT, f"{number}: no such job; `happe-server job list` shows all") from None


@click.command(cls=Command, epilog=WORKER)
@click.option(
    "--jobs",
    type=click.IntRange(1, 64),
    metavar="NUMBER",
    help="The number of jobs at a time  [jobs of the configuration]",
)
@pass_server
def worker(server: Server, jobs: int | None) -> None:
    """Do jobs until a signal ends the worker."""
    server.require_fit()
    server.database.dispose()
    working.run(server.config, server.secrets, jobs or max(1, server.config.jobs))
