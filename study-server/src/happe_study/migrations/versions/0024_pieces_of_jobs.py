# SPDX-License-Identifier: GPL-2.0-or-later
"""A job may be a piece of another one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024_pieces_of_jobs"
down_revision = "0023_sites"
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the column."""
    op.add_column("jobs", sa.Column("whole_id", SERIAL))
    op.create_index("ix_jobs_whole_id", "jobs", ["whole_id"])


def downgrade() -> None:
    """Undo it. Delete pieces, and fail the jobs that wait for them, because PostgreSQL would not send them again."""
    jobs = sa.table("jobs", sa.column("id"), sa.column("whole_id"), *map(sa.column, ("state", "lease", "failed")))
    ended = {"state": "failed", "lease": None, "failed": "The server went back to an earlier version. Retry it."}
    op.execute(jobs.update().where(jobs.c.id.in_(sa.select(jobs.c.whole_id))).values(ended))
    op.execute("DELETE FROM jobs WHERE whole_id IS NOT NULL")
    op.drop_index("ix_jobs_whole_id", "jobs")
    op.drop_column("jobs", "whole_id")
