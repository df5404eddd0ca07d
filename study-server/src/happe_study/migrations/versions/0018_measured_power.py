# SPDX-License-Identifier: GPL-2.0-or-later
"""The server measures power itself: a document that nobody uploaded has no account."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018_measured_power"
down_revision = "0017_second_factor"
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Let the account be none."""
    with op.batch_alter_table("analysis_documents") as documents:
        documents.alter_column("account_id", existing_type=SERIAL, nullable=True)


def downgrade() -> None:
    """Undo it. The figures that the server measured go; `happe-power measures` makes it again."""
    op.execute(sa.text("DELETE FROM analysis_documents WHERE account_id IS NULL"))
    with op.batch_alter_table("analysis_documents") as documents:
        documents.alter_column("account_id", existing_type=SERIAL, nullable=False)
