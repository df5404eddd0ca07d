# SPDX-License-Identifier: GPL-2.0-or-later
"""A bucket knows its owner by the database's identity, and swept parts wait before they are deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027_owners_of_buckets"
down_revision = "0026_pieces_of_runs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "identity",
        sa.Column("number", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_identity")),
    )
    op.create_table(
        "swept_parts",
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("found_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_swept_parts")),
    )


def downgrade() -> None:
    """Undo it."""
    op.drop_table("swept_parts")
    op.drop_table("identity")
