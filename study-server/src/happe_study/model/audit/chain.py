# SPDX-License-Identifier: GPL-2.0-or-later
"""The hash chain of the audit log.

    detail_sha256 = SHA-256(salt || canonical JSON of the detail)
    chain_sha256  = SHA-256(chain_sha256 of the entry before || number || at_us || action || detail_sha256)

with the numbers in decimal and the fields separated by a newline. Before the first entry stand 64 zeros. The server can
erase a detail and its salt: the rest reveals nothing about them, and the chain still verifies.
"""

import hashlib
import json
import secrets
from contextvars import ContextVar
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.model.audit.models import AuditDetail, AuditEntry, AuditHead
from happe_study.model.rules import Caller

GENESIS = "0" * 64
SERVER: ContextVar[str] = ContextVar("SERVER", default="server")  # the command line sets its user's name
SALT_BYTES = 16


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
    session.flush()
    head = session.get_one(AuditHead, 1, with_for_update=True, populate_existing=True)
    full = {"by": f"{who.who}:{who.name}" if who else SERVER.get(), **detail}
    salt, at_us = secrets.token_bytes(SALT_BYTES), now_us()
    digest = detail_digest(salt, full)
    head.number += 1
    head.chain_sha256 = link(head.chain_sha256, head.number, at_us, action, digest)
    session.flush()
    entry = {"number": head.number, "at_us": at_us, "action": action, "detail_sha256": digest}
    session.execute(insert(AuditEntry).values(**entry, chain_sha256=head.chain_sha256))
    about = {"study_id": study_id, "participant_id": participant_id}
    session.execute(insert(AuditDetail).values(number=head.number, **about, salt=salt, detail=full))
