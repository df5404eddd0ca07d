# SPDX-License-Identifier: GPL-2.0-or-later
"""Participants belong to a site, and experimenters may see one site only."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023_sites"
down_revision = "0022_marks_of_profiles"
branch_labels = None
depends_on = None

TABLES = ("participants", "grants")


def upgrade() -> None:
    """Add the columns."""
    for table in TABLES:
        op.add_column(table, sa.Column("site", sa.String(255)))


def downgrade() -> None:
    """Undo it. An account that may see only one site loses that role, so that nobody sees more than before."""
    op.execute("DELETE FROM grants WHERE site IS NOT NULL")
    for table in TABLES:
        op.drop_column(table, "site")
