# SPDX-License-Identifier: GPL-2.0-or-later
"""The database stores the fingerprints of its server's secrets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020_secret_fingerprints"
down_revision = "0018_measured_power"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "secret_fingerprints",
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_secret_fingerprints")),
    )


def downgrade() -> None:
    """Undo it."""
    op.drop_table("secret_fingerprints")
