# SPDX-License-Identifier: GPL-2.0-or-later
"""A study stores the name of its protocol's file."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010_protocol_file"
down_revision = "0009_traces_of_a_laptop"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. It is empty for existing studies."""
    op.add_column("studies", sa.Column("protocol_file", sa.Text()))


def downgrade() -> None:
    """Undo it."""
    op.drop_column("studies", "protocol_file")
