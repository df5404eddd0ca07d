# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices over HTTP: staff create and revoke them; devices enrol, send heartbeats and compare their clocks."""

from typing import Annotated, Any, Literal
from uuid import UUID

from apiflask import APIBlueprint
from flask import g
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from happe_contract.clocks import LATEST_US, MOST_PROBES
from happe_study.base.clock import now_us
from happe_study.base.fields import PRINTABLE, Strict
from happe_study.base.limits import address, guess
from happe_study.base.parts import parts
from happe_study.base.problems import Problem
from happe_study.model.devices import Device
from happe_study.model.rights import Right
from happe_study.model.rules import DeviceKind, anybody, caller, device, staff
from happe_study.model.studies import Study
from happe_study.study.people import devices as services

api = APIBlueprint("devices", __name__, url_prefix="/api/v1", tag="Devices")

Json = dict[str, Any]
Text = Annotated[str, Field(min_length=1, max_length=64, pattern=rf"^{PRINTABLE}+$")]
Micros = Annotated[int, Field(ge=0, le=LATEST_US)]
Boot = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class NewDevice(Strict):
    """A new device, as staff describe it."""

    name: Text
    kind: Annotated[DeviceKind, Field(strict=False)]


class Heartbeat(Strict):
    """A device's report on itself. Free space is in whole GiB: a size in bytes could reveal a recording's content.

    A recording meter adds the gaps of its trace, without reasons: saturation would reveal a high power.
    """

    state: Literal["idle", "running", "recording", "uploading", "fault"]
    software: Annotated[
        dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._+-]{0,63}$")], Text], Field(max_length=32)
    ]
    free_gib: Annotated[int, Field(ge=0, le=1 << 40)]
    spool: Annotated[int, Field(ge=0, le=1 << 40)]  # records or parts not yet uploaded
    gaps: Annotated[
        Annotated[int, Field(ge=0, le=1 << 40)] | None, Field(description="of the current trace, up to its last part")
    ] = None
    lost_seconds: Annotated[int, Field(ge=0, le=1 << 40)] | None = None


class DeviceOut(BaseModel):
    """A device, as staff see it."""

    model_config = ConfigDict(from_attributes=True)

    code: str
    name: str
    kind: DeviceKind
    created_us: int
    enrol_expires_us: int | None
    enrolled_us: int | None
    revoked_us: int | None
    heartbeat_us: int | None
    heartbeat: Heartbeat | None


class DevicesOut(BaseModel):
    """A study's devices, by name."""

    devices: list[DeviceOut]


class Invitation(BaseModel):
    """The enrolment code that somebody types at a new device."""

    device: str
    enrolment_code: str
    expires_us: int


class Enrolment(Strict):
    """A device that enrols. A laptop sends its X25519 public key in base64, a meter none."""

    code: Annotated[str, Field(min_length=1, max_length=64)]
    public_key: Annotated[
        Annotated[str, Field(max_length=64)] | None, Field(description="X25519, 32 bytes in base64; a meter has none")
    ] = None


class Enrolled(BaseModel):
    """An enrolled device's code, study, kind and token. The server shows the token only once."""

    device: str
    study: str
    kind: DeviceKind
    token: str


class LaptopsOut(BaseModel):
    """The codes of a study's laptops, ascending."""

    laptops: list[str]


class Clock(BaseModel):
    """When the server received the request and when it answered: t1 and t2 of a probe, in microseconds."""

    receive_us: int
    send_us: int


class Probes(Strict):
    """Probes of one clock, each [t0, t1, t2, t3]; t0 and t3 by the device's clock, in microseconds."""

    clock: Annotated[str, Field(pattern=rf"^(realtime|monotonic:{Boot})$")]
    probes: Annotated[
        list[Annotated[list[Micros], Field(min_length=4, max_length=4)]], Field(min_length=1, max_length=MOST_PROBES)
    ]


class EstimateOut(BaseModel):
    """server time = device time + offset_us, within uncertainty_us."""

    model_config = ConfigDict(from_attributes=True)

    offset_us: Annotated[int, Field(description="server time less device time")]
    uncertainty_us: int


@api.get("/studies/<study>/devices")
@staff(Right.DEVICE_READ)
@api.output(DevicesOut)
def list_devices(study: str) -> Json:
    """List a study's devices."""
    study_id = g.happe_study_ids(study)
    with parts().database.reading() as session:
        rows = session.scalars(select(Device).where(Device.study_id == study_id).order_by(Device.name))
        return {"devices": [DeviceOut.model_validate(row) for row in rows]}


@api.post("/studies/<study>/devices")
@staff(Right.DEVICE_MANAGE)
@api.input(NewDevice)
@api.output(Invitation, 201)
@api.doc(responses={409: "The study already has a device of this name."})
def create_device(study: str, json_data: NewDevice) -> Json:
    """Create a device. The server shows the enrolment code only once; the code works once, within a day."""
    with parts().database.writing() as session:
        row, code = services.create(session, g.happe_study_ids(study), json_data.name, json_data.kind, caller())
        return _invitation(row, code)


@api.post("/studies/<study>/devices/<code>/enrolment")
@staff(Right.DEVICE_MANAGE)
@api.output(Invitation, 201)
def renew_device(study: str, code: str) -> Json:
    """Let a device enrol again, with a new code. Its tokens end now."""
    with parts().database.writing() as session:
        row = services.find(session, g.happe_study_ids(study), code)
        return _invitation(row, services.renew(session, row, caller()))


@api.post("/studies/<study>/devices/<code>/revocation")
@staff(Right.DEVICE_MANAGE)
@api.output({}, 204)
def revoke_device(study: str, code: str) -> str:
    """End a device's tokens now."""
    with parts().database.writing() as session:
        services.revoke(session, services.find(session, g.happe_study_ids(study), code), caller())
    return ""


@api.post("/devices/enrol")
@anybody
@api.input(Enrolment)
@api.output(Enrolled, 201)
@api.doc(responses={403: "The code is unknown, used or too old."})
def enrol_device(json_data: Enrolment) -> Json:
    """Become a device of a study, with a code that works once."""
    try:
        with parts().database.writing() as session:
            row, token = services.enrol(session, json_data.code, json_data.public_key)
            study = session.get_one(Study, row.study_id)
            return {"device": row.code, "study": study.name, "kind": row.kind, "token": token}
    except Problem as problem:
        if problem.kind == services.WRONG_CODE:
            guess("enrol", {("code", address()): 1})
        raise


@api.put("/device/heartbeat")
@device()
@api.input(Heartbeat)
@api.output({}, 204)
def beat(json_data: Heartbeat) -> str:
    """Report that the device works, and its state."""
    with parts().database.writing() as session:
        services.heartbeat(session, caller().id, json_data.model_dump())
    return ""


@api.get("/device/laptops")
@device()
@api.output(LaptopsOut)
def list_laptops() -> Json:
    """List the laptops of the device's study. A meter may measure these."""
    of_study = (Device.study_id == caller().study_id) & (Device.kind == DeviceKind.LAPTOP)
    with parts().database.reading() as session:
        return {"laptops": [*session.scalars(select(Device.code).where(of_study).order_by(Device.code))]}


@api.get("/clock")
@device()
@api.output(Clock)
def read_clock() -> Json:
    """Read the server's clock twice: when this request arrived, and when its answer left."""
    return {"receive_us": g.happe_received_us, "send_us": now_us()}


@api.put("/device/clocks/<uuid:client_id>")
@device()
@api.input(Probes)
@api.output(EstimateOut, 201)
@api.doc(responses={200: "The server has them already.", 409: "The server has other probes under this id."})
def put_clock(client_id: UUID, json_data: Probes) -> tuple[EstimateOut, int]:
    """Estimate the offset of the device's clock to the server's. The device chooses the id and may send it again."""
    with parts().database.writing() as session:
        row, new = services.estimate_clock(session, caller().id, str(client_id), json_data.clock, json_data.probes)
        return EstimateOut.model_validate(row), 201 if new else 200


def _invitation(row: Device, code: str) -> Json:
    return {"device": row.code, "enrolment_code": code, "expires_us": row.enrol_expires_us}
