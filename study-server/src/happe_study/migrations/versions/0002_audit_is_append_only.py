# SPDX-License-Identifier: GPL-2.0-or-later
"""Start the audit log. Triggers refuse to change or delete an entry."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

SQLITE = [
    f"CREATE TRIGGER audit_entries_no_{verb.lower()} BEFORE {verb} ON audit_entries "
    "BEGIN SELECT RAISE(ABORT, 'audit_entries is append-only'); END"
    for verb in ("UPDATE", "DELETE")
]
POSTGRESQL = [
    """CREATE FUNCTION audit_entries_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'audit_entries is append-only'; END $$""",
    """CREATE TRIGGER audit_entries_refuse BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_entries
    FOR EACH STATEMENT EXECUTE FUNCTION audit_entries_refuse()""",
]


def upgrade() -> None:
    """Insert the head of an empty log, and make the triggers."""
    op.execute(
        sa.text("INSERT INTO audit_head (id, number, chain_sha256) VALUES (1, 0, :zeros)").bindparams(zeros="0" * 64)
    )
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    """Undo it."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TRIGGER audit_entries_no_update")
        op.execute("DROP TRIGGER audit_entries_no_delete")
    else:
        op.execute("DROP TRIGGER audit_entries_refuse ON audit_entries")
        op.execute("DROP FUNCTION audit_entries_refuse")
    op.execute("DELETE FROM audit_head")
