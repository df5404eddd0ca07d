# SPDX-License-Identifier: GPL-2.0-or-later
"""Let staff search and review profiles, and add the role reviewer.

The server reads the lessons of unblinded studies from their records again, because the tables now hold more of them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005_profiles"
down_revision = "0004_sealed_records"
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
NUMBERS = ("f_max_khz", "highest_khz", "runs", "performance", "power", "presses")
BY_NAME = ("participant", "application")
FEW = {"flagged": ("flagged = 1", "flagged"), "doubted": ("agrees = 0", "NOT agrees")}
ORDERS = {"participant": BY_NAME} | {by: (by, *BY_NAME) for by in ("presses", "last_us", "highest_khz")}
ROLES = "'investigator', 'experimenter', 'analyst', 'custodian', 'auditor', 'administrator'"


def upgrade() -> None:
    """Make the tables, and let the server read all records again."""
    _roles(f"{ROLES}, 'reviewer'")
    op.create_table(
        "taught_runs",
        sa.Column("run_id", SERIAL, nullable=False, autoincrement=False),
        sa.Column("started_us", sa.BigInteger(), nullable=False),
        sa.Column("ended_us", sa.BigInteger(), nullable=False),
        sa.Column("lessons", sa.Integer(), nullable=False),
        sa.Column("warm", sa.Boolean(), nullable=False),
        sa.Column("ladder", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_taught_runs_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_taught_runs")),
    )
    _profiles()
    _reviews()
    op.create_index(
        "ix_run_records_left",
        "run_records",
        ["run_id"],
        sqlite_where=sa.text("taken_out = 0"),
        postgresql_where=sa.text("NOT taken_out"),
    )
    op.execute(sa.text("UPDATE run_records SET taken_out = :no WHERE taken_out = :yes").bindparams(no=False, yes=True))


def downgrade() -> None:
    """Undo it."""
    op.drop_index("ix_run_records_left", "run_records")
    op.drop_table("profile_reviews")
    op.drop_table("profiles")
    op.drop_table("taught_runs")
    op.execute("DELETE FROM grants WHERE role = 'reviewer'")
    _roles(ROLES)


def _roles(roles: str) -> None:
    with op.batch_alter_table("grants") as grants:
        grants.drop_constraint(op.f("ck_grants_role"), type_="check")
        grants.create_check_constraint(op.f("ck_grants_role"), sa.text(f"role IN ({roles})"))


def _profiles() -> None:
    op.create_table(
        "profiles",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("study_id", SERIAL, nullable=False),
        sa.Column("participant_id", SERIAL, nullable=False),
        sa.Column("participant", sa.String(length=16), nullable=False),
        sa.Column("application", sa.String(length=255), nullable=False),
        sa.Column("khz", sa.JSON(), nullable=False),
        sa.Column("ladder", sa.JSON(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in NUMBERS),
        sa.Column("taught_in", sa.String(length=255), nullable=False),
        *(sa.Column(name, sa.Boolean(), nullable=False) for name in ("hit_top", "hit_bottom", "changed", "agrees")),
        sa.Column("last_us", sa.BigInteger(), nullable=False),
        sa.Column("flagged", sa.Boolean(), nullable=False),
        sa.Column("notes", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name=op.f("fk_profiles_study_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participants.id"], name=op.f("fk_profiles_participant_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profiles")),
        sa.UniqueConstraint("participant_id", "application", name=op.f("uq_profiles_participant_id_application")),
    )
    op.create_index("ix_profiles_study_id_application", "profiles", ["study_id", "application"])
    for name, (sqlite, postgresql) in FEW.items():
        of_few = sa.text(sqlite), sa.text(postgresql)
        op.create_index(
            f"ix_profiles_{name}",
            "profiles",
            ["study_id", *BY_NAME],
            sqlite_where=of_few[0],
            postgresql_where=of_few[1],
        )
    for order, columns in ORDERS.items():
        op.create_index(f"ix_profiles_study_id_{order}", "profiles", ["study_id", *columns])


def _reviews() -> None:
    op.create_table(
        "profile_reviews",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("profile_id", SERIAL, nullable=False),
        sa.Column("account_id", SERIAL, nullable=True),
        sa.Column("kind", sa.String(length=255), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("kind IN ('note', 'flag', 'unflag')", name=op.f("ck_profile_reviews_kind")),
        sa.ForeignKeyConstraint(
            ["profile_id"], ["profiles.id"], name=op.f("fk_profile_reviews_profile_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_profile_reviews_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_profile_reviews")),
    )
    op.create_index("ix_profile_reviews_profile_id", "profile_reviews", ["profile_id"])
