# SPDX-License-Identifier: GPL-2.0-or-later
"""The server finds the runs of an application without reading every run of a large study."""

from __future__ import annotations

from alembic import op

revision = "0021_runs_of_an_application"
down_revision = "0020_secret_fingerprints"
branch_labels = None
depends_on = None

INDEX = "ix_runs_study_id_application_state"


def upgrade() -> None:
    """Make the index."""
    op.create_index(INDEX, "runs", ["study_id", "application", "state"])


def downgrade() -> None:
    """Undo it."""
    op.drop_index(INDEX, "runs")
