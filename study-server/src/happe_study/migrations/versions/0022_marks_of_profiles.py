# SPDX-License-Identifier: GPL-2.0-or-later
"""The server counts flagged and contradicted profiles, and finds a profile's neighbours, without reading every profile.

SQLite has no statistics of this database, so it prefers any full index of the study to one of the few marked rows.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022_marks_of_profiles"
down_revision = "0021_runs_of_an_application"
branch_labels = None
depends_on = None

FEW = {"flagged": ("flagged = 1", "flagged"), "doubted": ("agrees = 0", "NOT agrees")}
MARKS = ("flagged", "agrees")
OF_APPLICATION = "ix_profiles_study_id_application"


def upgrade() -> None:
    """Replace the indices."""
    for name in FEW:
        op.drop_index(f"ix_profiles_{name}", "profiles")
    for mark in MARKS:
        op.create_index(f"ix_profiles_study_id_{mark}", "profiles", ["study_id", mark, "participant", "application"])
    op.drop_index(OF_APPLICATION, "profiles")
    op.create_index(OF_APPLICATION, "profiles", ["study_id", "application", "participant"])


def downgrade() -> None:
    """Undo it."""
    op.drop_index(OF_APPLICATION, "profiles")
    op.create_index(OF_APPLICATION, "profiles", ["study_id", "application"])
    for mark in MARKS:
        op.drop_index(f"ix_profiles_study_id_{mark}", "profiles")
    for name, (sqlite, postgresql) in FEW.items():
        op.create_index(
            f"ix_profiles_{name}",
            "profiles",
            ["study_id", "participant", "application"],
            sqlite_where=sa.text(sqlite),
            postgresql_where=sa.text(postgresql),
        )
