# SPDX-License-Identifier: GPL-2.0-or-later
"""The hash chain of the audit log.

    detail_sha256 = SHA-256(salt || canonical JSON of the detail)
    chain_sha256  = SHA-256(chain_sha256 of the entry before || number || at_us || action || detail_sha256)

with the numbers in decimal and the fields separated by a newline. Before the first entry stand 64 zeros. The server can
erase a detail and its salt: the rest reveals nothing about them, and the chain still verifies.
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
from happe_study.base.clock import now_us
from happe_study.base.database import pipelined, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Executable
    from sqlalchemy.orm import Session

    from happe_study.access.rules import Caller

GENESIS = "0" * 64
SERVER: ContextVar[str] = ContextVar("SERVER", default="server")  # the command line sets its user's name
SALT_BYTES = 16

_HEAD = select(AuditHead.number, AuditHead.chain_sha256).where(AuditHead.id == 1).with_for_update()
_MOVE = (
    update(table(AuditHead))
    .where(AuditHead.id == 1)
    .values(number=bindparam("to_number"), chain_sha256=bindparam("to_chain"))
)
_ENTRY, _DETAIL = insert(table(AuditEntry)), insert(table(AuditDetail))
_ENTRY_COLUMNS = ("number", "at_us", "action", "detail_sha256", "chain_sha256")
_DETAIL_COLUMNS = ("number", "study_id", "participant_id", "salt", "detail")
# PostgreSQL computes the links itself, so that nobody waits for the head while this program computes.
_POSTGRESQL = text("""
    WITH RECURSIVE given AS (
        SELECT * FROM unnest(
            CAST(:at_us AS bigint[]), CAST(:action AS varchar[]), CAST(:detail_sha256 AS varchar[]),
            CAST(:study_id AS bigint[]), CAST(:participant_id AS bigint[]), CAST(:salt AS bytea[]),
            CAST(:detail AS json[])
        ) WITH ORDINALITY AS given (at_us, action, detail_sha256, study_id, participant_id, salt, detail, place)
    ),
    head AS (SELECT number, chain_sha256 FROM audit_head WHERE id = 1 FOR UPDATE),
    links (place, number, chain_sha256) AS (
        SELECT CAST(0 AS bigint), number, CAST(chain_sha256 AS text) FROM head
        UNION ALL
        SELECT given.place, links.number + 1, encode(sha256(convert_to(concat_ws(chr(10), links.chain_sha256,
            links.number + 1, given.at_us, given.action, given.detail_sha256), 'UTF8')), 'hex')
        FROM links JOIN given ON given.place = links.place + 1
    ),
    moved AS (
        UPDATE audit_head SET number = last.number, chain_sha256 = last.chain_sha256
        FROM (SELECT number, chain_sha256 FROM links ORDER BY place DESC LIMIT 1) AS last WHERE id = 1
    ),
    written AS (
        INSERT INTO audit_entries (number, at_us, action, detail_sha256, chain_sha256)
        SELECT links.number, at_us, action, detail_sha256, links.chain_sha256 FROM links JOIN given USING (place)
    )
    INSERT INTO audit_details (number, study_id, participant_id, salt, detail)
    SELECT links.number, study_id, participant_id, salt, detail FROM links JOIN given USING (place)
""")


def canonical(detail: dict[str, Any]) -> bytes:
    """A detail as bytes: JSON with sorted keys and no spaces."""
    return json.dumps(detail, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def detail_digest(salt: bytes, detail: dict[str, Any]) -> str:
    """The chain's digest of a detail."""
    return hashlib.sha256(salt + canonical(detail)).hexdigest()


def link(before: str, number: int, at_us: int, action: str, detail_sha256: str) -> str:
    """The chain's digest after another entry, from the digest `before` it."""
    fields = (before, str(number), str(at_us), action, detail_sha256)
    return hashlib.sha256("\n".join(fields).encode()).hexdigest()


@dataclass(frozen=True)
class Entry:
    """An action of somebody (None: of the server). `detail` is any JSON; `append` says what it may contain."""

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
    """Record an action of somebody (None: of the server). Call it last in a transaction, because it locks the head.

    `detail` must not contain a condition before unblinding, and only data that can be erased with the participant.
    """
    append_all(session, [Entry(action, who, study_id, participant_id, detail)])


def append_all(
    session: Session,
    added: Sequence[Entry],
    also: Sequence[tuple[Executable, list[dict[str, Any]]]] = (),
    *,
    to_the_end: bool = False,
) -> None:
    """Record several actions in their order, as `append` does one, in a few statements for all of them.

    `also`: other statements with their rows. They return no rows, and go out together with the log's. `to_the_end`:
    this is the last step of the transaction.
    """
    session.flush()
    connection = session.connection()
    rows = [_row(each) for each in added]
    with pipelined(session, to_the_end=to_the_end):
        for statement, values in also:
            connection.execute(statement, values)
        _link_there(connection, rows) if connection.dialect.name == "postgresql" else _link_here(connection, rows)


def _row(each: Entry) -> dict[str, Any]:
    """An entry's columns, without its number and the chain's digest."""
    full = {"by": f"{each.who.who}:{each.who.name}" if each.who else SERVER.get(), **each.detail}
    salt = secrets.token_bytes(SALT_BYTES)
    about = {"study_id": each.study_id, "participant_id": each.participant_id, "salt": salt, "detail": full}
    return {"at_us": now_us(), "action": each.action, "detail_sha256": detail_digest(salt, full), **about}


def _link_there(connection: Connection, rows: list[dict[str, Any]]) -> None:
    texts = [row | {"detail": canonical(row["detail"]).decode()} for row in rows]
    connection.execute(_POSTGRESQL, {name: [row[name] for row in texts] for name in texts[0]})


def _link_here(connection: Connection, rows: list[dict[str, Any]]) -> None:
    number, chain = connection.execute(_HEAD).one()
    for row in rows:
        number += 1
        chain = link(chain, number, row["at_us"], row["action"], row["detail_sha256"])
        row |= {"number": number, "chain_sha256": chain}
    connection.execute(_MOVE, {"to_number": number, "to_chain": chain})
    for statement, names in ((_ENTRY, _ENTRY_COLUMNS), (_DETAIL, _DETAIL_COLUMNS)):
        connection.execute(statement, [{name: row[name] for name in names} for row in rows])
