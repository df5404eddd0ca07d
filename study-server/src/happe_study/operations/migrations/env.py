# SPDX-License-Identifier: GPL-2.0-or-later
"""Alembic runs this module around each migration."""

from alembic import context

from happe_study.operations.migrations.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,  # SQLite changes a table by copying it
)
context.run_migrations()
