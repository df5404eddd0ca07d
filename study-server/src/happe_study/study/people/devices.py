# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices: staff create and revoke them; they enrol, send heartbeats and compare their clocks.

Every function takes a session of `writing()` and raises Problem.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from happe_contract import clocks
from happe_contract.faults import BadDocumentError
from happe_study.base import fresh
from happe_study.base.clock import now_us
from happe_study.base.codes import ALPHABET, CODE_LENGTH, digest, is_code, new_code
from happe_study.base.problems import FieldError, Problem, conflict, not_found, unprocessable
from happe_study.base.uploads import of_document
from happe_study.model.accounts import TokenKind
from happe_study.model.audit import chain
from happe_study.model.devices import ClockEstimate, Device
from happe_study.model.rules import Caller, DeviceKind, Who
from happe_study.model.runs import Run
from happe_study.study.people import sittings, tokens
from happe_study.study.sealing import PublicKeyError, check_public_key

WRONG_CODE = "enrolment"  # the kind of problem
MISREAD = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, " ": None})  # as in Crockford's base 32
ENROL_US = 24 * 3600 * 1_000_000  # how long an enrolment code works


def create(session: Session, study_id: int, name: str, kind: DeviceKind, who: Caller | None) -> tuple[Device, str]:
    """Create a device. Returns it and its enrolment code, to show once. Problem 409: another device has the name."""
    try:
        device = fresh.add(
            session, lambda code: Device(study_id=study_id, code=code, name=name, kind=kind, created_us=now_us())
        )
    except IntegrityError:
        raise conflict(
            "device-name", "The study already has a device of this name.", FieldError("/name", "is taken")
        ) from None
    code = _offer(device)
    chain.append(session, "device.created", who, study_id=study_id, device=device.code, name=name, kind=kind)
    return device, code


def find(session: Session, study_id: int, code: str) -> Device:
    """A study's device, its row locked for a change. Problem 404: the study has no such device."""
    query = select(Device).where(Device.code == code, Device.study_id == study_id).with_for_update()
    device = session.scalar(query) if is_code(code) else None
    if device is None:
        raise not_found()
    return device


def renew(session: Session, device: Device, who: Caller | None) -> str:
    """Make a new enrolment code for a device that lost its key, as with a new disk. Its tokens end now."""
    _end(session, device)
    code = _offer(device)
    device.revoked_us = None
    chain.append(session, "device.renewed", who, study_id=device.study_id, device=device.code)
    return code


def revoke(session: Session, device: Device, who: Caller | None) -> None:
    """End a device's tokens, its sitting, and its enrolment code. Does nothing for a revoked device."""
    if device.revoked_us is not None:
        return
    _end(session, device)
    device.enrol_sha256 = device.enrol_expires_us = None
    device.revoked_us = now_us()
    chain.append(session, "device.revoked", who, study_id=device.study_id, device=device.code)


def enrol(session: Session, code: str, key: str | None) -> tuple[Device, str]:
    """Enrol the device with this enrolment code. Returns it and its token, to show once.

    A laptop sends its X25519 public key in base64. Problem 403: the code is unknown, used or too old. 422: a bad key;
    the code stays valid.
    """
    device = _invited(session, code)
    device.public_key = _checked_key(DeviceKind(device.kind), key)
    device.enrol_sha256 = device.enrol_expires_us = None
    device.enrolled_us = now_us()
    token = tokens.issue(session, TokenKind.DEVICE, device.id)
    itself = Caller(Who.DEVICE, device.id, device.code, device.study_id)
    facts: dict[str, Any] = {
        "device": device.code,
        "kind": device.kind,
        "key_sha256": fingerprint(device.public_key),
    }
    chain.append(session, "device.enrolled", itself, study_id=device.study_id, **facts)
    return device, token


def heartbeat(session: Session, device_id: int, said: dict[str, Any]) -> None:
    """Store a device's report on itself in place of the last one. The audit log has no entry of it."""
    session.execute(update(Device).where(Device.id == device_id).values(heartbeat_us=now_us(), heartbeat=said))


def estimate_clock(
    session: Session, device_id: int, client_id: str, clock: str, probes: Sequence[Sequence[int]]
) -> tuple[ClockEstimate, bool]:
    """Estimate a device's clock from probes. Returns it, and whether it is new. 409: the id has other probes."""
    try:
        found = clocks.estimate(probes)
    except BadDocumentError as error:
        raise of_document(error) from None
    query = select(ClockEstimate).where(ClockEstimate.device_id == device_id, ClockEstimate.client_id == client_id)
    row = ClockEstimate(device_id=device_id, client_id=client_id, clock=clock, **asdict(found))
    session.execute(select(Device.id).where(Device.id == device_id).with_for_update())
    known = session.scalar(query)
    if known is None:
        session.add(row)
        return row, True
    if any(getattr(known, field) != getattr(row, field) for field in ("clock", *asdict(found))):
        raise conflict("clock", "The server has other probes under this id. Make a new id for new probes.")
    return known, False


def new_enrolment_code() -> str:
    """A code of 80 random bits that people can type: two groups of eight."""
    return f"{new_code()}-{new_code()}"


def plain(code: str) -> str | None:
    """A typed code without hyphens and spaces, with misread letters corrected; None if it can't be a code."""
    read = code.upper().translate(MISREAD)
    return read if len(read) == 2 * CODE_LENGTH and set(read) <= set(ALPHABET) else None


def public_key(text: str) -> bytes:
    """Decode an X25519 public key from base64. Raises binascii.Error, or PublicKeyError for an unusable key."""
    try:
        key = base64.b64decode(text.encode("ascii"), validate=True)
    except UnicodeEncodeError:
        raise binascii.Error("not ASCII") from None
    check_public_key(key)
    return key


def fingerprint(key: bytes | None) -> str | None:
    """The fingerprint by which people recognise a laptop's key: SHA-256 in hexadecimal. None for a meter's."""
    return hashlib.sha256(key).hexdigest() if key else None


def _offer(device: Device) -> str:
    code = new_enrolment_code()
    device.enrol_sha256 = digest(code.replace("-", ""))
    device.enrol_expires_us = now_us() + ENROL_US
    return code


def _end(session: Session, device: Device) -> None:
    """End a device's tokens, sitting and public key, and remove the answers that only this key opens."""
    tokens.revoke_all(session, TokenKind.DEVICE, device.id)
    sittings.close(session, device_id=device.id)
    session.execute(update(Run).where(Run.device_id == device.id).values(start_sealed=None))
    device.public_key = device.enrolled_us = None


def _invited(session: Session, code: str) -> Device:
    """The device with this enrolment code. Raises Problem 403 for a code that is unknown, used or too old."""
    read = plain(code)
    query = select(Device).where(Device.enrol_sha256 == digest(read or "")).with_for_update()
    device = session.scalar(query) if read else None
    if device is None or (device.enrol_expires_us or 0) <= now_us():
        detail = "This enrolment code is unknown, used or older than a day. Ask for a new one."
        raise Problem(HTTPStatus.FORBIDDEN, WRONG_CODE, detail)
    return device


def last_clocks(session: Session, study_id: int) -> dict[int, ClockEstimate]:
    """Each device's last clock estimate, by the device's id. The query looks up one row a device, not all estimates."""
    mine = select(ClockEstimate.id).where(ClockEstimate.device_id == Device.id).correlate(Device)
    newest = mine.order_by(ClockEstimate.server_us.desc(), ClockEstimate.id.desc()).limit(1).scalar_subquery()
    ids = session.scalars(select(newest).where(Device.study_id == study_id)).all()
    rows = session.scalars(select(ClockEstimate).where(ClockEstimate.id.in_(ids)))
    return {row.device_id: row for row in rows}


def _checked_key(kind: DeviceKind, key: str | None) -> bytes | None:
    at = "/public_key"
    if kind is DeviceKind.METER:
        if key is not None:
            raise unprocessable("A meter has no key.", FieldError(at, "must be left out"))
        return None
    if key is None:
        raise unprocessable("A laptop needs a key, to which the server seals conditions.", FieldError(at, "is missing"))
    try:
        return public_key(key)
    except binascii.Error:
        raise unprocessable("The key can't be read.", FieldError(at, "is not base64")) from None
    except PublicKeyError as error:
        raise unprocessable("The key can't be used.", FieldError(at, str(error))) from None
