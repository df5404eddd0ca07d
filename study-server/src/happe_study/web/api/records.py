# SPDX-License-Identifier: GPL-2.0-or-later
"""Uploading the record of a run."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from apiflask import APIBlueprint
from pydantic import BaseModel

from happe_contract.schemas import Kind
from happe_study.base.parts import parts
from happe_study.base.uploads import json_body, openapi_body, takes
from happe_study.model.rules import DeviceKind, caller, device
from happe_study.study.records import services as records

api = APIBlueprint("records", __name__, url_prefix="/api/v1", tag="Runs")


class Received(BaseModel):
    """A stored record: its id, and the SHA-256 of the bytes that the laptop sent."""

    id: str
    sha256: str


@api.put("/runs/<code>/record/<uuid:client_id>")
@device(DeviceKind.LAPTOP)
@takes("record_bytes")
@api.output(Received, 201)
@api.doc(
    responses={200: "The server has it already.", 409: "The run has another record, or never started."},
    extensions=openapi_body(Kind.RUN_RECORD),
)
def put_record(code: str, client_id: UUID) -> tuple[dict[str, Any], int]:
    """Upload the record of a run that this laptop started. Sending the same bytes again has no effect."""
    raw = json_body()
    upload = records.read(raw, parts().secrets.allocation, run=code, client_id=str(client_id))
    new = records.receive(parts().database, upload, caller())
    return {"id": upload.content.client_id, "sha256": upload.sha256}, 201 if new else 200
