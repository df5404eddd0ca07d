# SPDX-License-Identifier: GPL-2.0-or-later
"""A job may make an export. The database keeps the export's files for some days."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025_exports_of_jobs"
down_revision = "0024_pieces_of_jobs"
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "export_pieces",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("job_id", SERIAL, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("at", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_export_pieces_job_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_export_pieces"),
        sa.UniqueConstraint("job_id", "name", "at", name="uq_export_pieces_job_id_name_at"),
    )


def downgrade() -> None:
    """Undo it, and delete the jobs of kinds that the older program does not know."""
    op.drop_table("export_pieces")
    op.execute("DELETE FROM jobs WHERE kind IN ('export', 'backup')")
