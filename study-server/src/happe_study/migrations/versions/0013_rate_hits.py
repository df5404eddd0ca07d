# SPDX-License-Identifier: GPL-2.0-or-later
"""All servers and processes of a database count calls together, for their rate limits."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013_rate_hits"
down_revision = "0012_sealed_parts"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "rate_hits",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("ends_us", sa.BigInteger(), nullable=False),
        sa.Column("hits", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_rate_hits")),
    )
    op.create_index("ix_rate_hits_ends_us", "rate_hits", ["ends_us"])


def downgrade() -> None:
    """Undo it."""
    op.drop_table("rate_hits")
