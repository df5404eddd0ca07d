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
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from happe_study.audit.models import AuditDetail, AuditEntry, AuditHead
from happe_study.clock import now_us

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.rules import Caller

GENESIS = "0" * 64
SALT_BYTES = 16


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
    full = {"by": f"{who.who}:{who.name}" if who else "server", **detail}
    salt = secrets.token_bytes(SALT_BYTES)
    session.flush()
    head = session.scalars(select(AuditHead).where(AuditHead.id == 1).with_for_update()).one()
    number, at_us, digest = head.number + 1, now_us(), detail_digest(salt, full)
    chain = link(head.chain_sha256, number, at_us, action, digest)
    head.number, head.chain_sha256 = number, chain
    session.add(AuditEntry(number=number, at_us=at_us, action=action, detail_sha256=digest, chain_sha256=chain))
    session.flush()
    session.add(AuditDetail(number=number, study_id=study_id, participant_id=participant_id, salt=salt, detail=full))
