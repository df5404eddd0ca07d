# SPDX-License-Identifier: GPL-2.0-or-later
"""The server finds the power traces that meters recorded during a laptop's run in an index."""

from __future__ import annotations

from alembic import op

revision = "0009_traces_of_a_laptop"
down_revision = "0008_large_studies"
branch_labels = None
depends_on = None

NAME = "ix_traces_laptop_id_created_us_sealed_us"


def upgrade() -> None:
    """Make the index."""
    op.create_index(NAME, "traces", ["laptop_id", "created_us", "sealed_us"])


def downgrade() -> None:
    """Undo it."""
    op.drop_index(NAME, "traces")
