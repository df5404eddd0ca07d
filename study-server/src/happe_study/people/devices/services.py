# SPDX-License-Identifier: GPL-2.0-or-later
"""What is done with devices: named by staff, enrolled by themselves, revoked; their heartbeats and clocks.

Every function takes a session of `writing()` and raises Problem.
"""

from __future__ import annotations

import binascii
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from happe_contract import clocks
from happe_contract.faults import BadDocumentError
from happe_study.access.rules import Caller, DeviceKind, Who
from happe_study.audit import chain
from happe_study.base import fresh
from happe_study.base.clock import now_us
from happe_study.base.codes import digest, is_code
from happe_study.base.problems import FieldError, Problem, conflict, not_found, unprocessable
from happe_study.base.uploads import of_document
from happe_study.design.allocation.sealing import PublicKeyError
from happe_study.people.accounts import tokens
from happe_study.people.accounts.models import TokenKind
from happe_study.people.devices import enrolment, sittings
from happe_study.people.devices.models import ClockEstimate, Device

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session

ENROL_US = 24 * 3600 * 1_000_000  # how long an enrolment code works


def create(session: Session, study_id: int, name: str, kind: DeviceKind, who: Caller | None) -> tuple[Device, str]:
    """A new device of a study, and the code that it enrols with, which is shown only once. 409: the name is taken."""
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
    """A study's device, locked for a change. 404: it has no such device."""
    query = select(Device).where(Device.code == code, Device.study_id == study_id).with_for_update()
    device = session.scalar(query) if is_code(code) else None
    if device is None:
        raise not_found()
    return device


def renew(session: Session, device: Device, who: Caller | None) -> str:
    """A new enrolment code for a device that was there before: another disk, another key. Its tokens end now."""
    _end(session, device)
    code = _offer(device)
    device.revoked_us = None
    chain.append(session, "device.renewed", who, study_id=device.study_id, device=device.code)
    return code


def revoke(session: Session, device: Device, who: Caller | None) -> None:
    """End a device's tokens and its sitting, and its code if it has not enrolled yet. Again: nothing more."""
    if device.revoked_us is not None:
        return
    _end(session, device)
    device.enrol_sha256 = device.enrol_expires_us = None
    device.revoked_us = now_us()
    chain.append(session, "device.revoked", who, study_id=device.study_id, device=device.code)


def enrol(session: Session, code: str, key: str | None) -> tuple[Device, str]:
    """The device whose enrolment code this is, and its token, which is shown only once.

    A laptop gives its X25519 public key in base64. 403: no such code, or not any more. 422: a bad key; the code stays.
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
        "key_sha256": enrolment.fingerprint(device.public_key),
    }
    chain.append(session, "device.enrolled", itself, study_id=device.study_id, **facts)
    return device, token


def heartbeat(session: Session, device_id: int, said: dict[str, Any]) -> None:
    """Keep what a device says of itself. The one before is forgotten, and nothing is audited."""
    session.execute(update(Device).where(Device.id == device_id).values(heartbeat_us=now_us(), heartbeat=said))


def estimate_clock(
    session: Session, device_id: int, client_id: str, clock: str, probes: Sequence[Sequence[int]]
) -> tuple[ClockEstimate, bool]:
    """A device's clock estimated from probes, and whether it is new. 409: that id has another. 422: bad probes."""
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
        raise conflict("clock", "Other probes were sent under this id. Make a new id for new probes.")
    return known, False


def _offer(device: Device) -> str:
    code = enrolment.new_enrolment_code()
    device.enrol_sha256 = digest(code.replace("-", ""))
    device.enrol_expires_us = now_us() + ENROL_US
    return code


def _end(session: Session, device: Device) -> None:
    """What a device had is no longer valid."""
    tokens.revoke_all(session, TokenKind.DEVICE, device.id)
    sittings.close(session, device_id=device.id)
    device.public_key = device.enrolled_us = None


def _invited(session: Session, code: str) -> Device:
    """The device that waits for this code."""
    read = enrolment.plain(code)
    query = select(Device).where(Device.enrol_sha256 == digest(read or "")).with_for_update()
    device = session.scalar(query) if read else None
    if device is None or (device.enrol_expires_us or 0) <= now_us():
        detail = "This enrolment code is unknown, used or older than a day. Ask for a new one."
        raise Problem(HTTPStatus.FORBIDDEN, "enrolment", detail)
    return device


def last_clocks(session: Session, study_id: int) -> dict[int, ClockEstimate]:
    """Each device's last clock estimate: one look for each, however many there are."""
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
        raise unprocessable("Conditions are sealed to a laptop's key.", FieldError(at, "is missing"))
    try:
        return enrolment.public_key(key)
    except binascii.Error:
        raise unprocessable("The key can't be read.", FieldError(at, "is no base64")) from None
    except PublicKeyError as error:
        raise unprocessable("The key can't be used.", FieldError(at, str(error))) from None
