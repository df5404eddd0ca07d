# SPDX-License-Identifier: GPL-2.0-or-later
"""The hash chain of the audit log.

    detail_sha256 = SHA-256(salt || canonical JSON of the detail)
    chain_sha256  = SHA-256(chain_sha256 of the entry before || number || at_us || action || detail_sha256)

with the numbers in decimal and the fields separated by a newline; the first entry follows 64 zeros. The detail and its
salt can be erased; what remains tells nothing of them and the chain still verifies.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, text, update

from happe_study.audit.models import AuditDetail, AuditEntry, AuditHead
from happe_study.clock import now_us
from happe_study.database import pipelined, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Executable
    from sqlalchemy.orm import Session

    from happe_study.rules import Caller

GENESIS = "0" * 64
SERVER: ContextVar[str] = ContextVar("SERVER", default="server")  # the command line puts its user's name in
SALT_BYTES = 16

_HEAD = select(AuditHead.number, AuditHead.chain_sha256).where(AuditHead.id == 1).with_for_update()
_MOVE = (
    update(table(AuditHead))
    .where(AuditHead.id == 1)
    .values(number=bindparam("to_number"), chain_sha256=bindparam("to_chain"))
)
_ENTRY, _DETAIL = insert(table(AuditEntry)), insert(table(AuditDetail))
# All three at once: the head is locked meanwhile, and everybody waits for it.
_POSTGRESQL = text("""
    WITH moved AS (UPDATE audit_head SET number = :to_number, chain_sha256 = :to_chain WHERE id = 1),
    written AS (
        INSERT INTO audit_entries (number, at_us, action, detail_sha256, chain_sha256)
        SELECT * FROM unnest(
            CAST(:number AS bigint[]), CAST(:at_us AS bigint[]), CAST(:action AS varchar[]),
            CAST(:detail_sha256 AS varchar[]), CAST(:chain_sha256 AS varchar[]))
    )
    INSERT INTO audit_details (number, study_id, participant_id, salt, detail)
    SELECT * FROM unnest(
        CAST(:number AS bigint[]), CAST(:study_id AS bigint[]), CAST(:participant_id AS bigint[]),
        CAST(:salt AS bytea[]), CAST(:detail AS json[]))
""")


def canonical(detail: dict[str, Any]) -> bytes:
    """A detail as bytes: JSON with sorted keys and no spaces."""
    return json.dumps(detail, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def detail_digest(salt: bytes, detail: dict[str, Any]) -> str:
    """What the chain keeps of a detail."""
    return hashlib.sha256(salt + canonical(detail)).hexdigest()


def link(before: str, number: int, at_us: int, action: str, detail_sha256: str) -> str:
    """The chain's digest after one more entry."""
    fields = (before, str(number), str(at_us), action, detail_sha256)
    return hashlib.sha256("\n".join(fields).encode()).hexdigest()


@dataclass(frozen=True)
class Entry:
    """What somebody (None: the server) did. `detail` is any JSON; `append` says what it must not hold."""

    action: str
    who: Caller | None
    study_id: int | None
    participant_id: int | None
    detail: dict[str, Any]


def append(
    session: Session,
    action: str,
    who: Caller | None,
    *,
    study_id: int | None = None,
    participant_id: int | None = None,
    **detail: Any,  # noqa: ANN401 - any JSON
) -> None:
    """Write down that somebody (None: the server) did something. Call it last in a transaction: it locks the head.

    `detail` must hold no condition before unblinding and nothing that could not be erased with the participant.
    """
    append_all(session, [Entry(action, who, study_id, participant_id, detail)])


def append_all(
    session: Session, added: Sequence[Entry], also: Sequence[tuple[Executable, list[dict[str, Any]]]] = ()
) -> None:
    """Write down several things in their order, as `append` does one: a few statements, whatever their number.

    `also` are statements with their rows, which answer nothing and are sent together with the log's.
    """
    session.flush()
    connection = session.connection()
    number, chain = connection.execute(_HEAD).one()
    entries: list[dict[str, Any]] = []
    details: list[dict[str, Any]] = []
    for each in added:
        full = {"by": f"{each.who.who}:{each.who.name}" if each.who else SERVER.get(), **each.detail}
        salt, number, at_us = secrets.token_bytes(SALT_BYTES), number + 1, now_us()
        digest = detail_digest(salt, full)
        chain = link(chain, number, at_us, each.action, digest)
        entry = {"number": number, "at_us": at_us, "action": each.action}
        entries.append(entry | {"detail_sha256": digest, "chain_sha256": chain})
        about = {"number": number, "study_id": each.study_id, "participant_id": each.participant_id}
        details.append(about | {"salt": salt, "detail": full})
    moved = {"to_number": number, "to_chain": chain}
    with pipelined(session):
        for statement, rows in also:
            connection.execute(statement, rows)
        _write(connection, moved, entries, details)


def _write(
    connection: Connection, moved: dict[str, Any], entries: list[dict[str, Any]], details: list[dict[str, Any]]
) -> None:
    if connection.dialect.name == "postgresql":
        texts = [{**each, "detail": canonical(each["detail"]).decode()} for each in details]
        columns = {name: [row[name] for row in rows] for rows in (entries, texts) for name in rows[0]}
        connection.execute(_POSTGRESQL, moved | columns)
        return
    connection.execute(_MOVE, moved)
    connection.execute(_ENTRY, entries)
    connection.execute(_DETAIL, details)
