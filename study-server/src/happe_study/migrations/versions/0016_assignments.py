# SPDX-License-Identifier: GPL-2.0-or-later
"""Staff can assign profiles to reviewers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016_assignments"
down_revision = "0015_jobs"
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "profile_assignments",
        sa.Column("profile_id", SERIAL, nullable=False),
        sa.Column("account_id", SERIAL, nullable=False),
        sa.ForeignKeyConstraint(
            ["profile_id"], ["profiles.id"], name="fk_profile_assignments_profile_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name="fk_profile_assignments_account_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("profile_id", "account_id", name="pk_profile_assignments"),
    )
    columns = ["account_id", "profile_id"]
    op.create_index("ix_profile_assignments_account_id_profile_id", "profile_assignments", columns)


def downgrade() -> None:
    """Undo it. The server forgets all assignments."""
    op.drop_table("profile_assignments")
