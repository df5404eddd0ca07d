# SPDX-License-Identifier: GPL-2.0-or-later
"""Store when a role began, when somebody else chose a password, and when staff gave their password for a token."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from happe_study.base.clock import now_us

revision = "0003_custodians"
down_revision = "0002"
branch_labels = None
depends_on = None

ADDED = (("accounts", "password_given_us"), ("grants", "granted_us"), ("tokens", "proven_us"))


def upgrade() -> None:
    """Add the columns. Nobody knows when older roles began, so they begin now. No older token counts as fresh."""
    for table, column in ADDED:
        op.add_column(table, sa.Column(column, sa.BigInteger(), nullable=True))
    op.execute(sa.text("UPDATE grants SET granted_us = :now").bindparams(now=now_us()))
    with op.batch_alter_table("grants") as grants:
        grants.alter_column("granted_us", existing_type=sa.BigInteger(), nullable=False)


def downgrade() -> None:
    """Undo it."""
    for table, column in reversed(ADDED):
        with op.batch_alter_table(table) as changed:
            changed.drop_column(column)
