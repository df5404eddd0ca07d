# SPDX-License-Identifier: GPL-2.0-or-later
"""How workers hear of jobs. On PostgreSQL Procrastinate brings each to one of them; on SQLite the worker looks."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from procrastinate import App, SyncPsycopgConnector

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

TASK = "happe.job"  # its argument `job` is the number of a row
PIECE, WHOLE = -1, 0  # Procrastinate begins a higher number first


def deliver(session: Session, job_id: int, priority: int = WHOLE) -> None:
    """Let a worker have a job when this transaction is committed, and never if it isn't."""
    connection = session.connection()
    if connection.dialect.name == "postgresql":
        driver = connection.connection.driver_connection
        _sender().configure_task(TASK, connection=driver, priority=priority).defer(job=job_id)


@cache
def _sender() -> App:
    """Never opened: it uses the connections of those who ask for jobs."""
    return App(connector=SyncPsycopgConnector())
