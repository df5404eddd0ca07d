# SPDX-License-Identifier: GPL-2.0-or-later
"""The server reads lists and counts of a study's runs, participants and traces from an index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008_large_studies"
down_revision = "0006_reports"
branch_labels = None
depends_on = None

ADDED = (
    ("runs", ("study_id", "code")),
    ("runs", ("study_id", "state", "code")),
    ("participants", ("study_id", "code")),
    ("participants", ("study_id", "state", "code")),
    ("traces", ("study_id", "client_id")),
    ("traces", ("study_id", "device_id", "sealed_us", "parts", "stored_bytes")),
)
TAKEN = (("participants", ("study_id", "state")), ("traces", ("study_id",)))
OF_PARTICIPANT = """
    UPDATE runs SET study_id = (SELECT study_id FROM participants WHERE participants.id = runs.participant_id)
"""


def upgrade() -> None:
    """Add the study to each run. SQLite must not copy the table for this: that would delete all records of runs."""
    op.add_column("runs", sa.Column("study_id", sa.BigInteger(), nullable=False, server_default="0"))
    op.execute(OF_PARTICIPANT)
    _exchange(TAKEN, ADDED)


def downgrade() -> None:
    """Undo it."""
    _exchange(ADDED, TAKEN)
    op.drop_column("runs", "study_id")


def _exchange(taken: tuple[tuple[str, tuple[str, ...]], ...], added: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
    for table, columns in taken:
        op.drop_index(f"ix_{table}_{'_'.join(columns)}", table)
    for table, columns in added:
        op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))
