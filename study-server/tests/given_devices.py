# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices with which tests begin, and their uploads."""

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from flask.testing import FlaskClient
from nacl.public import PrivateKey
from werkzeug.test import TestResponse

import records
from happe_study.base.clock import now_us
from happe_study.model.devices import Device, Sitting
from happe_study.model.rules import DeviceKind
from happe_study.model.studies import Study
from happe_study.study.people import devices as services
from world import World

Json = dict[str, Any]

PARQUET = "application/vnd.apache.parquet"


@dataclass(frozen=True)
class Enrolled:
    """An enrolled device. `key` opens documents sealed to it; a meter has none."""

    device: Device
    token: str
    key: PrivateKey | None


def device(world: World, study: Study, kind: str = "laptop", *, name: str | None = None) -> Enrolled:
    """Enrol a device of a study."""
    key = PrivateKey.generate() if kind == DeviceKind.LAPTOP else None
    public = base64.b64encode(bytes(key.public_key)).decode() if key else None
    with world.database.writing() as session:
        _row, code = services.create(session, study.id, name or f"{kind} {uuid4().hex[:8]}", DeviceKind(kind), None)
        row, token = services.enrol(session, code, public)
        session.flush()
        session.expunge(row)
    return Enrolled(row, token, key)


def seat(world: World, enrolled: Enrolled, participant_id: int) -> None:
    """Let a participant sit at a laptop from now on."""
    with world.database.writing() as session:
        session.add(Sitting(device_id=enrolled.device.id, participant_id=participant_id, started_us=now_us()))


def said(answer: TestResponse) -> Json:
    """The JSON of an answer."""
    found: Json = json.loads(answer.data)
    return found


def put_record(client: FlaskClient, record: Json, *, padded: bool = False) -> TestResponse:
    """Upload a run record to the address of its run and id. `padded`: as laptops pad it."""
    raw = records.encode(record)
    raw += b" " * (-len(raw) % 65536) if padded else b""
    address = f"/api/v1/runs/{record['run']}/record/{record['id']}"
    return client.put(address, data=raw, content_type="application/json")


def header(study: Study, meter: Enrolled, laptop: Enrolled, **changed: object) -> Json:
    """The header of a new power trace of a laptop."""
    codes = {"meter": meter.device.code, "measured": laptop.device.code}
    return records.power_header(str(uuid4()), **codes) | {"study": study.name} | changed


def put_trace(client: FlaskClient, document: Json) -> TestResponse:
    """Begin a power trace with its header."""
    return client.put(f"/api/v1/traces/{document['id']}", json=document)


def content_digest(content: bytes) -> str:
    """The Content-Digest field of a body."""
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


def part_headers(content: bytes) -> dict[str, str]:
    """The headers of a part."""
    return {"Content-Digest": content_digest(content), "If-None-Match": "*", "Content-Type": PARQUET}


def put_part(client: FlaskClient, trace: str, number: int, content: bytes, **changed: str | None) -> TestResponse:
    """Upload a part. `changed` replaces headers, whose hyphens are written as underscores; None leaves one out."""
    given = {name.replace("_", "-"): value for name, value in changed.items()}
    headers = {name: value for name, value in (part_headers(content) | given).items() if value is not None}
    return client.put(f"/api/v1/traces/{trace}/parts/{number}", data=content, headers=headers)


def put_seal(client: FlaskClient, manifest: Json) -> TestResponse:
    """Seal a power trace with its manifest."""
    return client.put(f"/api/v1/traces/{manifest['trace']}/seal", json=manifest)
