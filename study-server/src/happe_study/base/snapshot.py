# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading with several statements what the database was at one moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


def at_one_moment(session: Session) -> None:
    """Make a new session of `reading()` see a single moment. On SQLite every session does."""
    if session.get_bind().dialect.name == "postgresql":
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
