# SPDX-License-Identifier: GPL-2.0-or-later
"""Give each power trace a key, and seal the manifests of blinded studies. The next revision demands sealed parts.

This needs the allocation key if there are traces.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from alembic import context, op

from happe_study.design.allocation.sealing import open_manifest, record_digest
from happe_study.evidence.traces.sealed import new_trace_key, sealed_manifest
from happe_study.migrations import KeyNeededError

if TYPE_CHECKING:
    from collections.abc import Iterator

revision = "0011_sealed_traces"
down_revision = "0010_protocol_file"
branch_labels = None
depends_on = None

TRACES = sa.table(
    "traces",
    *(sa.column("id"), sa.column("study_id"), sa.column("client_id", sa.Uuid(as_uuid=False))),
    *(sa.column("manifest", sa.JSON()), sa.column("manifest_digest")),
    *(sa.column("manifest_sealed", sa.LargeBinary()), sa.column("key_sealed", sa.LargeBinary())),
)
STUDIES = sa.table("studies", sa.column("id"), sa.column("state"))


def upgrade() -> None:
    """Make the columns, and seal manifests. SQLite must not copy `traces`: that would delete the rows of all parts."""
    op.add_column("traces", sa.Column("key_sealed", sa.LargeBinary(), nullable=False, server_default=sa.text("''")))
    op.add_column("traces", sa.Column("manifest_sealed", sa.LargeBinary()))
    op.execute("ALTER TABLE traces RENAME COLUMN manifest_sha256 TO manifest_digest")
    op.add_column("trace_parts", sa.Column("digest", sa.String(64), nullable=False, server_default=""))
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE traces ALTER COLUMN manifest_sealed SET STORAGE EXTERNAL")  # ciphers don't compress
    for row in _traces():
        name, key = row.client_id, _key()
        values: dict[str, object] = {"key_sealed": new_trace_key(key, name)}
        if row.manifest_digest is not None:
            values["manifest_digest"] = record_digest(key, row.manifest_digest)
        if row.manifest is not None and row.state != "unblinded":
            values |= {"manifest": sa.null(), "manifest_sealed": sealed_manifest(key, name, row.manifest)}
        op.get_bind().execute(TRACES.update().where(TRACES.c.id == row.id).values(values))


def downgrade() -> None:
    """Undo it. The server no longer knows a manifest's SHA-256, so the meter can't repeat the sealing of its trace."""
    for row in _traces():
        if row.manifest_sealed is not None:
            document = json.loads(open_manifest(_key(), row.client_id, row.manifest_sealed))
            op.get_bind().execute(TRACES.update().where(TRACES.c.id == row.id).values(manifest=document))
    op.drop_column("trace_parts", "digest")
    op.execute("ALTER TABLE traces RENAME COLUMN manifest_digest TO manifest_sha256")
    op.drop_column("traces", "manifest_sealed")
    op.drop_column("traces", "key_sealed")


def _traces() -> Iterator[Any]:
    """Each trace with its study's state. It reads one at a time, because a manifest may have megabytes."""
    last = 0
    columns = (TRACES.c.id, TRACES.c.client_id, TRACES.c.manifest, TRACES.c.manifest_digest, TRACES.c.manifest_sealed)
    query = sa.select(*columns, STUDIES.c.state).join_from(TRACES, STUDIES, STUDIES.c.id == TRACES.c.study_id)
    query = query.order_by(TRACES.c.id).limit(1)
    while (row := op.get_bind().execute(query.where(TRACES.c.id > last)).first()) is not None:
        last = row.id
        yield row


def _key() -> bytes:
    key: bytes | None = context.config.attributes["allocation"]
    if key is None:
        raise KeyNeededError("there are power traces, which this migration can't read or seal without allocation.key")
    return key
