# SPDX-License-Identifier: GPL-2.0-or-later
"""Consistent reading: several statements see the database as it was at one moment."""

from sqlalchemy.orm import Session


def at_one_moment(session: Session) -> None:
    """Make all statements of a new session of `reading()` see one moment. On SQLite they always do."""
    if session.get_bind().dialect.name == "postgresql":
        session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
