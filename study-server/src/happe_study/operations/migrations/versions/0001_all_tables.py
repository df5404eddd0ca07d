# SPDX-License-Identifier: GPL-2.0-or-later
"""All tables of the models; an audit log that is empty and can only grow.

Before the next release a change of the models changes what this makes, and a digest in tests/test_migrations.py. The
release replaces `create_all` by the tables as Alembic writes them from the models. After it, each change gets a
migration.
"""

import sqlalchemy as sa
from alembic import op

from happe_study.operations.migrations.tables import Base

revision = "0001_all_tables"
down_revision = None
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
    "ALTER TABLE run_records ALTER COLUMN document SET STORAGE EXTERNAL",  # ciphers don't compress
    "ALTER TABLE traces ALTER COLUMN manifest_sealed SET STORAGE EXTERNAL",
]


def upgrade() -> None:
    """Make all."""
    Base.metadata.create_all(op.get_bind())
    op.execute(
        sa.text("INSERT INTO audit_head (id, number, chain_sha256) VALUES (1, 0, :zeros)").bindparams(zeros="0" * 64)
    )
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    """Remove all."""
    tables = sa.MetaData()
    tables.reflect(op.get_bind())
    tables.remove(tables.tables["alembic_version"])
    tables.drop_all(op.get_bind())
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION audit_entries_refuse")
