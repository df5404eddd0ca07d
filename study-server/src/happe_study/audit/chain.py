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
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, insert, select, update

from happe_study.audit.models import AuditDetail, AuditEntry, AuditHead
from happe_study.clock import now_us
from happe_study.database import table

if TYPE_CHECKING:
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
    full = {"by": f"{who.who}:{who.name}" if who else SERVER.get(), **detail}
    salt = secrets.token_bytes(SALT_BYTES)
    session.flush()
    last, before = session.execute(_HEAD).one()
    number, at_us, digest = last + 1, now_us(), detail_digest(salt, full)
    chain = link(before, number, at_us, action, digest)
    session.execute(_MOVE, {"to_number": number, "to_chain": chain})
    entry = {"number": number, "at_us": at_us, "action": action, "detail_sha256": digest, "chain_sha256": chain}
    session.execute(_ENTRY, entry)
    about = {"number": number, "study_id": study_id, "participant_id": participant_id}
    session.execute(_DETAIL, {**about, "salt": salt, "detail": full})
