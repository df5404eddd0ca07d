# SPDX-License-Identifier: GPL-2.0-or-later
"""Reviewers can pass profiles, and each profile stores how unusual it is.

The server reads the records of unblinded studies again, and so ranks their profiles.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014_reviews"
down_revision = "0013_rate_hits"
branch_labels = None
depends_on = None

KINDS = "'note', 'flag', 'unflag'"


def upgrade() -> None:
    """Add the kind and the column, and let the server read all records again."""
    _kinds(f"{KINDS}, 'pass'")
    op.add_column("profiles", sa.Column("unusual", sa.Integer(), nullable=False, server_default="0"))
    op.create_index("ix_profiles_study_id_unusual", "profiles", ["study_id", "unusual", "participant", "application"])
    op.execute(sa.text("UPDATE run_records SET taken_out = :no WHERE taken_out = :yes").bindparams(no=False, yes=True))


def downgrade() -> None:
    """Undo it. The server forgets which profiles reviewers passed."""
    op.drop_index("ix_profiles_study_id_unusual", "profiles")
    op.drop_column("profiles", "unusual")
    op.execute("DELETE FROM profile_reviews WHERE kind = 'pass'")
    _kinds(KINDS)


def _kinds(kinds: str) -> None:
    with op.batch_alter_table("profile_reviews") as reviews:
        reviews.drop_constraint(op.f("ck_profile_reviews_kind"), type_="check")
        reviews.create_check_constraint(op.f("ck_profile_reviews_kind"), sa.text(f"kind IN ({kinds})"))
