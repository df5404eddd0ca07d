# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies: creating them from a protocol, locking and finding them."""

import hashlib
import secrets as random
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.config import Secrets
from happe_study.base.database import FOR_CHANGE
from happe_study.base.problems import FieldError, conflict, forbidden, not_found, unprocessable
from happe_study.model.accounts import Account, Grant
from happe_study.model.audit.chain import append
from happe_study.model.rights import Right, Role
from happe_study.model.rules import Caller
from happe_study.model.studies import Study, StudyState
from happe_study.study.allocation import SECRET_BYTES, commitment
from happe_study.study.protocol import placeholders, registration
from happe_study.study.protocol.reading import Mistake, Protocol, ProtocolError, read_protocol
from happe_study.study.sealing import SealError, open_seed, seal_seed
from happe_study.study.studies.slots import make_slots

PROTOCOLS_KEPT = 32
LONGEST_PATH = 4096


def put(
    session: Session, text: str | bytes, who: Caller | None, file: str | None = None, *, read: str | None = None
) -> tuple[Study, bool]:
    """Create a draft from a protocol's TOML text, or give the draft of the same name this protocol. True: it is new.

    `file` is the sender's name of the protocol's file, for the messages of `require_ready`. `who` is None for the
    command line, which has every right. `read`: the SHA-256 of the protocol that the caller wants to replace. Raises
    Problem: 422 with every mistake and its line; 409 if the study of this name is locked or not the caller's, or the
    draft has another protocol now; 403 if the caller may not create studies.
    """
    content = text.encode() if isinstance(text, str) else text
    protocol = _read(content)
    study = session.scalar(select(Study).where(Study.name == protocol.name).with_for_update(**FOR_CHANGE))
    action = "study.changed" if study else "study.created"
    if study is None:
        _require_right(who, None, forbidden("To create a study you need this right in every study."))
        study = Study(name=protocol.name, state=StudyState.DRAFT, created_us=now_us())
    else:
        _require_right(who, study.id, conflict("name-taken", "Another study has this name."))
        _require_draft(study)
    kept = content.decode("utf-8-sig")
    sha256 = hashlib.sha256(kept.encode()).hexdigest()
    if read is not None and study.protocol_sha256 not in (read, sha256):
        raise conflict(
            "changed", "Somebody has changed the protocol since you read it. Send yours again to replace it."
        )
    study.title, study.protocol, study.protocol_sha256 = protocol.title, kept, sha256
    study.protocol_file = file if file and len(file) <= LONGEST_PATH and file.isprintable() else None
    try:
        with session.begin_nested():
            session.add(study)
    except IntegrityError:  # somebody else has just created a study of this name
        return put(session, text, who, file, read=read)
    append(session, action, who, study_id=study.id, study=study.name, protocol_sha256=study.protocol_sha256)
    return study, action == "study.created"


def lock(session: Session, study: Study, secrets: Secrets, who: Caller | None, *, read: str | None = None) -> None:
    """Check that a study is ready (`require_ready`), then lock it (`allocate`).

    `read`: the SHA-256 of the protocol that the caller has read. Raises Problem 409 if the draft has another one now.
    """
    session.refresh(study, with_for_update=FOR_CHANGE)  # so that nobody gives it another protocol after the checks
    require_ready(session, study)
    if read is not None and read != study.protocol_sha256:
        raise conflict("changed", "The protocol has changed since you read it. Read it again, then lock the study.")
    allocate(session, study, secrets, who)


def allocate(
    session: Session,
    study: Study,
    secrets: Secrets,
    who: Caller | None,
    *,
    draw: Callable[[int], bytes] = random.token_bytes,
) -> None:
    """Draw the allocation, seal it, and publish the commitment. The protocol can't change afterwards.

    Raises Problem 409 for a study that is locked already. `draw(n)` returns n random bytes.
    """
    session.refresh(study, with_for_update=FOR_CHANGE)
    _require_draft(study)
    protocol = protocol_of(study)
    seed, salt = draw(SECRET_BYTES), draw(SECRET_BYTES)
    slots = make_slots(session, study, protocol, (seed, salt), secrets)
    study.state, study.locked_us = StudyState.LOCKED, now_us()
    study.commitment = commitment(seed, salt)
    study.seed_sealed = seal_seed(secrets.allocation, study.name, seed, salt)
    facts: dict[str, Any] = {
        "protocol_sha256": study.protocol_sha256,
        "registration_sha256": registration.digest(protocol),
        "commitment": study.commitment,
        "slots": slots,
    }
    append(session, "study.locked", who, study_id=study.id, study=study.name, **facts)


def require_ready(session: Session, study: Study) -> None:
    """Raise Problem 409 if a study is locked, has placeholders left, or lacks an investigator or custodian."""
    _require_draft(study)
    found = placeholders.left(study.protocol)
    file = study.protocol_file
    to_fill_in = [
        FieldError(f"{file}:{each.line}" if file else f"line {each.line} of the protocol", each.to_do) for each in found
    ]
    missing = [
        FieldError(
            role,
            f"no account has this role yet: happe-server user grant EMAIL {role} --study {study.name}",
        )
        for role in (Role.INVESTIGATOR, Role.CUSTODIAN)
        if not _is_held(session, study, role)
    ]
    if to_fill_in or missing:
        to_do = ["Fill in the protocol and create the study from it again."] if to_fill_in else []
        to_do += ["Give the roles."] if missing else []
        detail = " ".join([f"The study {study.name} can't be locked yet.", *to_do])
        raise conflict("not-ready", detail, *to_fill_in, *missing)


def _is_held(session: Session, study: Study, role: Role) -> bool:
    here = or_(Grant.study_id == study.id, Grant.study_id.is_(None))
    held = select(Grant.id).join(Account).where(Grant.role == role, here, Account.active)
    return session.scalar(held.limit(1)) is not None


def find(session: Session, name: str) -> Study:
    """The study of this name. Raises Problem 404."""
    study = session.scalar(select(Study).where(Study.name == name))
    if study is None:
        raise not_found()
    return study


def visible(session: Session, who: Caller) -> list[Study]:
    """The studies that staff may read, by name."""
    studies = session.scalars(select(Study).order_by(Study.name))
    return [study for study in studies if who.may(Right.STUDY_READ, study.id)]


def protocol_of(study: Study) -> Protocol:
    """A study's protocol. `put` has checked it."""
    return _cached(study.protocol_sha256, study.protocol)


def seed_of(study: Study, secrets: Secrets) -> tuple[bytes, bytes]:
    """Open a locked study's seed and salt. Raises Problem 409 if the study was locked with another `allocation.key`."""
    try:
        return open_seed(secrets.allocation, study.name, study.seed_sealed or b"")
    except SealError:
        raise wrong_key() from None


def wrong_key() -> Exception:
    """409: a seal of the study does not open."""
    return conflict("wrong-key", "The seal does not open: `allocation.key` differs from the one of the lock.")


def _read(content: bytes) -> Protocol:
    try:
        return read_protocol(content)
    except ProtocolError as error:
        wrong = [FieldError(f"line {mistake.line}", _complaint(mistake)) for mistake in error.mistakes]
        raise unprocessable("The protocol can't be used as it is.", *wrong) from error


def _complaint(mistake: Mistake) -> str:
    return f"{mistake.field}: {mistake.message}" if mistake.field else mistake.message


@lru_cache(PROTOCOLS_KEPT)
def _cached(_sha256: str, text: str) -> Protocol:
    return read_protocol(text.encode())


def _require_right(who: Caller | None, study_id: int | None, refusal: Exception) -> None:
    if who is not None and not who.may(Right.STUDY_CREATE, study_id):
        raise refusal


def _require_draft(study: Study) -> None:
    if study.state != StudyState.DRAFT:
        raise conflict("locked", "The study is locked: its protocol and allocation can't change.")
