# SPDX-License-Identifier: GPL-2.0-or-later
"""Seal the records of runs, and store a keyed digest of each instead of its SHA-256.

This needs the allocation key if there are records. It does not change entries of the audit log that name a record's
SHA-256. PostgreSQL keeps old copies of rows in its files until `VACUUM FULL run_records`. Older backups keep them too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import sqlalchemy as sa
from alembic import context, op

from happe_study.migrations import KeyNeededError
from happe_study.runs.records import stored

if TYPE_CHECKING:
    from collections.abc import Iterator

revision = "0004_sealed_records"
down_revision = "0003_custodians"
branch_labels = None
depends_on = None

NEXT = sa.text("""
    SELECT run_records.id, runs.code, run_records.document FROM run_records JOIN runs ON runs.id = run_records.run_id
    WHERE run_records.id > :after ORDER BY run_records.id LIMIT 1
""")
SEAL = sa.text("UPDATE run_records SET document = :document, digest = :digest WHERE id = :id")
OPEN = sa.text("UPDATE run_records SET document = :document, sha256 = :sha256 WHERE id = :id")


def upgrade() -> None:
    """Seal every record."""
    op.execute("ALTER TABLE run_records RENAME COLUMN sha256 TO digest")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE run_records ALTER COLUMN document SET STORAGE EXTERNAL")  # ciphers don't compress
    for row in _records():
        with pa.CompressedInputStream(pa.BufferReader(row.document), "zstd") as stream:
            raw = stream.read()
        kept = stored.stored(_key(), row.code, raw, json.loads(raw))
        op.get_bind().execute(SEAL, {"id": row.id, "document": kept.document, "digest": kept.digest})


def downgrade() -> None:
    """Undo it."""
    op.execute("ALTER TABLE run_records RENAME COLUMN digest TO sha256")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE run_records ALTER COLUMN document SET STORAGE EXTENDED")
    for row in _records():
        raw = stored.opened(_key(), row.code, row.document)
        plain = {"document": pa.Codec("zstd").compress(raw, asbytes=True), "sha256": stored.sha256(raw)}
        op.get_bind().execute(OPEN, {"id": row.id, **plain})


def _records() -> Iterator[sa.Row[tuple[int, str, bytes]]]:
    """Each record with its run's code. It reads one at a time, because a record may have megabytes."""
    last = 0
    while (row := op.get_bind().execute(NEXT, {"after": last}).first()) is not None:
        last = row.id
        yield row


def _key() -> bytes:
    key: bytes | None = context.config.attributes["allocation"]
    if key is None:
        raise KeyNeededError(
            "there are records of runs, which this migration can't read or seal without allocation.key"
        )
    return key
