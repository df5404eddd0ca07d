# SPDX-License-Identifier: GPL-2.0-or-later
"""A run at home has a record for each piece of its day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026_pieces_of_runs"
down_revision = "0025_exports_of_jobs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Number the records of a run, from 1."""
    with op.batch_alter_table("run_records") as table:
        table.add_column(sa.Column("piece", sa.Integer(), nullable=False, server_default="1"))
        table.drop_constraint("uq_run_records_run_id", type_="unique")
        table.create_unique_constraint("uq_run_records_run_id_piece", ["run_id", "piece"])


def downgrade() -> None:
    """Undo it, and delete later pieces: the older program keeps one record of a run."""
    op.execute("DELETE FROM run_records WHERE piece > 1")
    with op.batch_alter_table("run_records") as table:
        table.drop_constraint("uq_run_records_run_id_piece", type_="unique")
        table.drop_column("piece")
        table.create_unique_constraint("uq_run_records_run_id", ["run_id"])
