# SPDX-License-Identifier: GPL-2.0-or-later
"""Seal the parts of power traces of a database of revision 0010 or older, and open them for a downgrade.

For each part, this writes the sealed file under a new name, changes the row in a transaction, and later removes the old
file. So after a kill or with a full disk, each part is readable by its row, and the next try continues.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from happe_cli.disk import sync_file, sync_folder
from happe_study.design.allocation.sealing import open_trace_key, part_digest
from happe_study.evidence.traces.folder import Folder
from happe_study.evidence.traces.sealed import part_room
from happe_study.evidence.traces.sealed_parts import Seal, sealed_bytes
from happe_study.evidence.traces.storage import UNFINISHED
from happe_study.migrations import KeyNeededError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from happe_study.base.database import Database

PLAIN = ".parquet"
PIECE = 1 << 20
UNSEALED = ""  # the digest of a part that is not sealed
NOT_THERE = "0" * 64  # no file has this SHA-256, so `check` still complains about the part
MOST_ROOM = 64 << 20  # the default of `part_bytes`

TRACES = sa.table(
    "traces",
    *(sa.column("id"), sa.column("client_id", sa.Uuid())),
    *(sa.column("key_sealed", sa.LargeBinary()), sa.column("header", sa.JSON())),
)
PARTS = sa.table("trace_parts", *map(sa.column, ("id", "trace_id", "number", "bytes", "sha256", "digest")))
ROW = sa.select(PARTS, TRACES.c.client_id, TRACES.c.key_sealed, TRACES.c.header).join_from(
    PARTS, TRACES, TRACES.c.id == PARTS.c.trace_id
)


def seal_parts(
    database: Database, folder: Path | None, key: bytes | None, progress: Callable[[int, int], None]
) -> None:
    """Seal every unsealed part. `progress` gets the bytes done and all bytes. OSError, SealError, KeyNeededError.

    Without traces in the database it does nothing, so a new server needs neither folder nor key.
    """
    with database.engine.connect() as connection:
        traces = connection.scalar(sa.select(sa.func.count()).select_from(TRACES))
        left = sa.select(sa.func.coalesce(sa.func.sum(PARTS.c.bytes), 0)).where(PARTS.c.digest == UNSEALED)
        total = int(connection.scalar(left) or 0)
    if not traces:
        return
    if folder is None or key is None:
        raise KeyNeededError("there are power traces, which can't be sealed without allocation.key and their folder")
    storage, done = Folder(folder), 0
    for row in _rows(database, PARTS.c.digest == UNSEALED):
        values = _sealed(storage, row, key)
        with database.engine.connect() as connection, connection.begin():
            connection.execute(PARTS.update().where(PARTS.c.id == row.id).values(values))
        done += row.bytes
        progress(done, total)
    for trace in storage.traces():  # also removes the files that a killed migration left
        for path in storage.folder(trace).glob(f"*{PLAIN}"):
            path.unlink()


def open_parts(connection: sa.Connection, folder: Path | None, key: bytes | None) -> bool:
    """Write every part unsealed beside its sealed file, and change its row. Returns whether there are parts."""
    rows = connection.execute(ROW.order_by(PARTS.c.id)).all()
    if rows and (folder is None or key is None):
        raise KeyNeededError("there are power traces, which can't be opened without allocation.key and their folder")
    for row in rows:
        assert folder is not None and key is not None  # noqa: S101, PT018 - checked above
        storage, seal = Folder(folder), _seal(row, key)
        path = storage.part(row.client_id, row.number)
        if not path.exists():
            continue
        digest, size, plain = hashlib.sha256(), 0, path.with_suffix(PLAIN)
        with path.open("rb") as sealed, plain.open("wb") as file:
            for piece in seal.read(sealed):
                file.write(piece)
                digest.update(piece)
                size += len(piece)
            sync_file(file)
        sync_folder(path.parent)
        values = {"bytes": size, "sha256": digest.hexdigest()}
        connection.execute(PARTS.update().where(PARTS.c.id == row.id).values(values))
    return bool(rows)


def _rows(database: Database, which: sa.ColumnElement[bool]) -> Iterator[sa.Row[Any]]:
    last = 0
    while True:
        with database.engine.connect() as connection:
            row = connection.execute(ROW.where(which, PARTS.c.id > last).order_by(PARTS.c.id).limit(1)).first()
        if row is None:
            return
        last = row.id
        yield row


def _seal(row: sa.Row[Any], key: bytes) -> Seal:
    trace = str(row.client_id)
    return Seal(open_trace_key(key, trace, row.key_sealed), trace, row.number)


def _sealed(storage: Folder, row: sa.Row[Any], key: bytes) -> dict[str, object]:
    """Seal a part's file, and return the row's new values. A missing or damaged part gets NOT_THERE as its SHA-256."""
    path, room = storage.part(row.client_id, row.number), part_room(row.header, MOST_ROOM)
    kept = {"digest": part_digest(key, row.bytes, row.sha256), "bytes": sealed_bytes(row.bytes, room)}
    unfinished = path.with_name(f"{path.stem}-migrating{UNFINISHED}")
    digest = hashlib.sha256()
    try:
        with path.with_suffix(PLAIN).open("rb") as plain, unfinished.open("wb", buffering=0) as file:
            writing = _seal(row, key).writing(file, plain.seek(0, 2), room)
            plain.seek(0)
            while piece := plain.read(PIECE):
                writing.add(piece)
                digest.update(piece)
            writing.end()
            sync_file(file)
        unfinished.replace(path)
        sync_folder(path.parent)
    except FileNotFoundError:
        return kept | {"sha256": NOT_THERE}
    finally:
        unfinished.unlink(missing_ok=True)
    same = digest.hexdigest() == row.sha256
    return kept | {"bytes": writing.bytes, "sha256": writing.sha256 if same else NOT_THERE}
