# SPDX-License-Identifier: GPL-2.0-or-later
"""The process of one job, `python -m happe_study.operations.working.process`.

It reads the job, the server's configuration and the secrets from standard input. Because each job has its own process,
a worker survives a job that needs too much memory, and can end a job at any moment. The process ends with its worker.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from happe_study.base.config import Config, Secrets
from happe_study.base.database import Database
from happe_study.base.parts import Parts
from happe_study.base.s3 import AwayError, NotOwnerError
from happe_study.evidence.traces.storage import FULL
from happe_study.jobs import services
from happe_study.jobs.models import Job
from happe_study.jobs.work import FailedError, GoneError, Work
from happe_study.operations import logs
from happe_study.operations.working.kinds import KINDS
from happe_study.operations.working.order import Order
from happe_study.operations.working.parent import end_with

if TYPE_CHECKING:
    from happe_study.jobs.work import Kind

log = structlog.get_logger(__name__)

AWAY_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)  # pauses between tries while the store is away
FULL_DISK = "There was no room on the disk of the worker's machine."


def do(server: Parts, job: Job, folder: Path) -> None:
    """Do a job that the worker took, and store how it ended."""
    assert job.lease is not None  # noqa: S101 - the worker has taken the job
    work = Work(server, job, folder)
    try:
        _run(KINDS[job.kind], work)
        if services.is_held(server.database, job.id, job.lease):
            with work.taking_effect():
                pass
    except GoneError:
        return
    except (FailedError, NotOwnerError) as error:
        why = str(error)
    except ModuleNotFoundError as error:
        why = f"The Python package {error.name} is missing: install happe-study-server[analysis]."
    except MemoryError:
        why = "There was not enough memory."
    except Exception as error:  # whatever it is, somebody waits for it
        log.exception("job failed", job=job.id, kind=job.kind)
        full = isinstance(error, OSError) and error.errno in FULL
        why = FULL_DISK if full else f"The program has a fault: {type(error).__name__}. Please report it."
    else:
        return
    services.fail(server.database, job.id, job.lease, why)


def _run(kind: Kind, work: Work) -> None:
    """Run the kind's function, and again from its beginning while the store of power traces is away.

    Raises what the function raises. If somebody cancels the job, the next report of progress raises GoneError.
    """
    for pause in chain(AWAY_SECONDS, repeat(AWAY_SECONDS[-1])):
        try:
            kind.run(work)
        except AwayError as error:
            log.warning("job waits for the store", job=work.id, kind=kind.name, reason=str(error))
            work.doing("waiting for the store of power traces")
            time.sleep(pause)
        else:
            return


def main() -> None:
    """Do the job that standard input orders."""
    order = Order(**json.loads(sys.stdin.buffer.read()))
    end_with(order.worker, signal.SIGKILL)
    config = Config.model_validate(order.config)
    logs.configure(config.log_level)
    secrets = Secrets(**{name: bytes.fromhex(value) for name, value in order.secrets.items()})
    server = Parts(config, secrets, Database(config.url, pool_size=1))
    with server.database.reading() as session:
        job = session.get(Job, order.job)
    if job is not None and job.lease == order.lease:
        do(server, job, Path(order.folder))
    server.database.dispose()


if __name__ == "__main__":
    main()
