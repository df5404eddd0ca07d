# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that makes a backup on its worker's machine, in the folder that this machine's configuration names."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from happe_cli.disk import UNFINISHED
from happe_study.access.rights import Right
from happe_study.audit.chain import SERVER
from happe_study.base.clock import now_us
from happe_study.base.problems import conflict
from happe_study.evidence.traces.storage import FULL
from happe_study.jobs import services as jobs
from happe_study.jobs.work import FailedError, Kind
from happe_study.operations.backup import making, manifest
from happe_study.operations.backup.postgresql import ProgramError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy.orm import Session

    from happe_study.jobs.models import Job
    from happe_study.jobs.work import Work

BACKUP = "backup"
PREFIX = "job-"  # the names of jobs' backups begin with it, so that a job removes no backup of a command
MEBI = 1 << 20
NO_FOLDER = "The option `backups` of this machine's configuration names no folder for backups."
RUNNING = "A job makes a backup already. Wait until it is done, or cancel it."


def ask(session: Session) -> Job:
    """Ask for a backup. Raises Problem 409 if a job makes one already."""
    jobs.alone(session, None)
    if jobs.open_one(session, BACKUP, None):
        raise conflict("backup", RUNNING)
    moment = datetime.fromtimestamp(now_us() / 1e6, UTC)
    return jobs.ask(session, BACKUP, SERVER.get(), name=f"{PREFIX}{moment:%Y-%m-%d-%H%M%S}")


def make(work: Work) -> None:
    """Make a backup without secrets. The job's arguments fix its name, so a second try finds the first one's backup."""
    folder = work.server.config.backups
    if folder is None:
        raise FailedError(NO_FOLDER)
    place = folder / work.arguments["name"]
    try:
        for left in folder.glob(f".{PREFIX}*{UNFINISHED}"):  # only one job makes backups, so nobody writes these
            shutil.rmtree(left, ignore_errors=True)
        if not place.exists():
            _made(work, place)
        made = manifest.read((place / manifest.NAME).read_bytes())
    except ProgramError as error:
        raise FailedError(str(error)) from None
    except OSError as error:
        if error.errno in FULL:
            raise
        raise FailedError(f"{error.filename or place}: {error.strerror}") from None
    if made.missing:
        raise FailedError(
            f"{place}: it lacks parts of traces ({len(made.missing)}), which the server has lost or damaged."
        )
    with work.taking_effect({"place": str(place), "bytes": made.size}):
        pass


KIND = Kind(BACKUP, "Backup {name}", Right.ACCOUNT_MANAGE, make)


def _made(work: Work, place: Path) -> None:
    def progress(done: int, total: int) -> None:
        work.doing("copying files", -(-done // MEBI), -(-total // MEBI))

    work.doing("copying the database")
    source = making.Source(work.server.config, work.server.secrets, work.database)
    making.make(source, place, progress=progress)
