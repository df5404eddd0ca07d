# SPDX-License-Identifier: GPL-2.0-or-later
"""The server measures power itself. The document that it makes has no account, because nobody uploaded it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018_measured_power"
down_revision = "0017_second_factor"
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Let a document have no account."""
    with op.batch_alter_table("analysis_documents") as documents:
        documents.alter_column("account_id", existing_type=SERIAL, nullable=True)


def downgrade() -> None:
    """Undo it, and delete the figures that the server measured. `happe-power measures` makes them again."""
    op.execute(sa.text("DELETE FROM analysis_documents WHERE account_id IS NULL"))
    with op.batch_alter_table("analysis_documents") as documents:
        documents.alter_column("account_id", existing_type=SERIAL, nullable=False)
