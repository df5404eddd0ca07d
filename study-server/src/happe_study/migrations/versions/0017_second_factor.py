# SPDX-License-Identifier: GPL-2.0-or-later
"""An account may have a second factor."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017_second_factor"
down_revision = "0016_assignments"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("accounts", sa.Column("totp_secret", sa.LargeBinary))
    op.add_column("accounts", sa.Column("totp_step", sa.BigInteger))


def downgrade() -> None:
    """Undo it. Accounts need only their passwords."""
    op.drop_column("accounts", "totp_step")
    op.drop_column("accounts", "totp_secret")
