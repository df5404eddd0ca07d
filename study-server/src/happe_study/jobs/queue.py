# SPDX-License-Identifier: GPL-2.0-or-later
"""How jobs get to workers. On PostgreSQL Procrastinate gives each job to one worker; on SQLite the worker polls."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from procrastinate import App, SyncPsycopgConnector

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

TASK = "happe.job"  # its argument `job` is the number of a row
PIECE, WHOLE = -1, 0  # priorities; Procrastinate starts the higher number first


def deliver(session: Session, job_id: int, priority: int = WHOLE) -> None:
    """Give a job to a worker when this transaction commits. If it rolls back, no worker gets the job."""
    connection = session.connection()
    if connection.dialect.name == "postgresql":
        driver = connection.connection.driver_connection
        _sender().configure_task(TASK, connection=driver, priority=priority).defer(job=job_id)


@cache
def _sender() -> App:
    """Procrastinate's app for sending. Nobody opens it, because it uses the caller's connection."""
    return App(connector=SyncPsycopgConnector())
