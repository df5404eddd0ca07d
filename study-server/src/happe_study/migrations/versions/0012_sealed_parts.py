# SPDX-License-Identifier: GPL-2.0-or-later
"""Every part of a power trace is sealed (`migrations.sealing`)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012_sealed_parts"
down_revision = "0011_sealed_traces"
branch_labels = None
depends_on = None

PLAIN = "SELECT COUNT(*) FROM trace_parts WHERE digest = ''"
STORED = """
    UPDATE traces
    SET stored_bytes = (SELECT COALESCE(SUM(bytes), 0) FROM trace_parts WHERE trace_parts.trace_id = traces.id)
"""


def upgrade() -> None:
    """Fail if a part is not sealed, and store the size of each trace's sealed files."""
    if plain := op.get_bind().scalar(sa.text(PLAIN)):
        raise RuntimeError(f"{plain} parts of power traces are not sealed")
    op.execute(STORED)


def downgrade() -> None:
    """Do nothing: the downgrade of revision 0011 opens the parts."""
