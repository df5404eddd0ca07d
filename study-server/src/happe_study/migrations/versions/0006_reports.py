# SPDX-License-Identifier: GPL-2.0-or-later
"""Store reports of unblinded studies, and the documents that people upload for them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006_reports"
down_revision = "0005_profiles"
branch_labels = None
depends_on = None

SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "analysis_documents",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("study_id", SERIAL, nullable=False),
        sa.Column("kind", sa.String(255), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("uploaded_us", sa.BigInteger(), nullable=False),
        sa.Column("account_id", SERIAL, nullable=False),
        sa.CheckConstraint("kind IN ('power-measures', 'power-model')", name="ck_analysis_documents_kind"),
        sa.ForeignKeyConstraint(
            ["study_id"], ["studies.id"], name="fk_analysis_documents_study_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_analysis_documents_account_id"),
        sa.PrimaryKeyConstraint("id", name="pk_analysis_documents"),
        sa.UniqueConstraint("study_id", "kind", name="uq_analysis_documents_study_id_kind"),
    )
    op.create_table(
        "reports",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("study_id", SERIAL, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("account_id", SERIAL, nullable=False),
        sa.Column("requested_us", sa.BigInteger(), nullable=False),
        sa.Column("finished_us", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("doing", sa.String(255), nullable=False),
        sa.Column("failed", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_reports_study_id", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name="fk_reports_account_id"),
        sa.PrimaryKeyConstraint("id", name="pk_reports"),
        sa.UniqueConstraint("study_id", "number", name="uq_reports_study_id_number"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "report_files",
        sa.Column("id", SERIAL, nullable=False),
        sa.Column("report_id", SERIAL, nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("media_type", sa.String(255), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["report_id"], ["reports.id"], name="fk_report_files_report_id", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_report_files"),
        sa.UniqueConstraint("report_id", "name", name="uq_report_files_report_id_name"),
    )


def downgrade() -> None:
    """Undo it."""
    for table in ("report_files", "reports", "analysis_documents"):
        op.drop_table(table)
