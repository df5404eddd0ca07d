# SPDX-License-Identifier: GPL-2.0-or-later
"""Devices over HTTP: staff name and revoke them, and they enrol, show that they live, and compare clocks."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID  # noqa: TC003 - a route's argument

from apiflask import APIBlueprint
from flask import g
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from happe_study.access.rights import Right
from happe_study.access.rules import anybody, caller, device, staff
from happe_study.base.clock import now_us
from happe_study.base.fields import PRINTABLE
from happe_study.base.limits import limited
from happe_study.base.parts import parts
from happe_study.design.protocol.reading import Protocol  # noqa: TC001 - the same
from happe_study.design.study import Study
from happe_study.people.devices import services, sittings
from happe_study.people.devices.clocks import LATEST_US, MOST_PROBES
from happe_study.people.devices.models import Device, DeviceKind
from happe_study.people.participants.models import Participant  # noqa: TC001 - read by people
from happe_study.runs.course.models import Run  # noqa: TC001 - read by people
from happe_study.studies.services import protocol_of

api = APIBlueprint("devices", __name__, url_prefix="/api/v1", tag="Devices")

Json = dict[str, Any]
Text = Annotated[str, Field(min_length=1, max_length=64, pattern=rf"^{PRINTABLE}+$")]
Micros = Annotated[int, Field(ge=0, le=LATEST_US)]
Boot = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class Strict(BaseModel):
    """What comes in: no unknown fields, no guessed types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewDevice(Strict):
    """A device as staff names it."""

    name: Text
    kind: Annotated[DeviceKind, Field(strict=False)]


class Heartbeat(Strict):
    """What a device says of itself. Free room is in whole GiB: a size to the byte would tell what was recorded."""

    state: Literal["idle", "running", "recording", "uploading", "fault"]
    software: Annotated[
        dict[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._+-]{0,63}$")], Text], Field(max_length=32)
    ]
    free_gib: Annotated[int, Field(ge=0, le=1 << 40)]
    spool: Annotated[int, Field(ge=0, le=1 << 40)]  # records or parts not yet uploaded


class DeviceOut(BaseModel):
    """A device as staff sees it."""

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
    """What somebody types at a new device."""

    device: str
    enrolment_code: str
    expires_us: int


class Enrolment(Strict):
    """A device that enrols: a laptop with its X25519 public key in base64, a meter without."""

    code: Annotated[str, Field(min_length=1, max_length=64)]
    public_key: Annotated[str, Field(max_length=64)] | None = None


class Enrolled(BaseModel):
    """A device's own name and token. The token is shown this once."""

    device: str
    study: str
    kind: DeviceKind
    token: str


class Clock(BaseModel):
    """When the server received the question and when it answered: t1 and t2 of a probe."""

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

    offset_us: int
    uncertainty_us: int


class Sit(Strict):
    """Who sits down: the participant's token, from the link that they got."""

    participant: Annotated[str, Field(min_length=1, max_length=128)]


class RunOut(BaseModel):
    """A run as a laptop sees it: what to do when, and nothing about its condition."""

    code: str
    position: int
    application: str
    name: str
    command: list[str]
    cpu: int | None
    seconds: int
    practice_seconds: int
    phase: Literal["training", "main"]
    state: str


class ScaleOut(BaseModel):
    """What is asked after each run: a whole number from `lowest` to `highest`."""

    model_config = ConfigDict(from_attributes=True)

    question: str
    lowest: int
    highest: int
    lowest_label: str
    highest_label: str


class ChoiceOut(BaseModel):
    """An answer that can be guessed."""

    model_config = ConfigDict(from_attributes=True)

    key: str
    text: str


class GuessOut(BaseModel):
    """How a run's condition is asked for, and the answers offered: the same ones after every run."""

    question: str
    choices: list[ChoiceOut]


class SittingOut(BaseModel):
    """Whose runs a laptop may start, and what it asks. But for the runs it is the same for everybody in the study."""

    participant: str
    study: str
    title: str
    handout_read: bool
    rating: ScaleOut
    guess: GuessOut | None
    runs: list[RunOut]


@api.get("/studies/<study>/devices")
@staff(Right.DEVICE_READ)
@api.output(DevicesOut)
def list_devices(study: str) -> Json:
    """A study's devices."""
    study_id = g.happe_study_ids(study)
    with parts().database.reading() as session:
        rows = session.scalars(select(Device).where(Device.study_id == study_id).order_by(Device.name))
        return {"devices": [DeviceOut.model_validate(row) for row in rows]}


@api.post("/studies/<study>/devices")
@staff(Right.DEVICE_MANAGE)
@api.input(NewDevice)
@api.output(Invitation, 201)
@api.doc(responses={409: "The study has a device of this name."})
def create_device(study: str, json_data: NewDevice) -> Json:
    """Name a new device. The enrolment code is shown this once, works once and for a day."""
    study_id = g.happe_study_ids(study)
    with parts().database.writing() as session:
        row, code = services.create(session, study_id, json_data.name, json_data.kind, caller())
        return _invitation(row, code)


@api.post("/studies/<study>/devices/<code>/enrolment")
@staff(Right.DEVICE_MANAGE)
@api.output(Invitation, 201)
def renew_device(study: str, code: str) -> Json:
    """Let a device enrol again, with a new code. Its tokens end now."""
    study_id = g.happe_study_ids(study)
    with parts().database.writing() as session:
        row = services.find(session, study_id, code)
        return _invitation(row, services.renew(session, row, caller()))


@api.post("/studies/<study>/devices/<code>/revocation")
@staff(Right.DEVICE_MANAGE)
@api.output({}, 204)
def revoke_device(study: str, code: str) -> str:
    """End a device's tokens now."""
    study_id = g.happe_study_ids(study)
    with parts().database.writing() as session:
        services.revoke(session, services.find(session, study_id, code), caller())
    return ""


@api.post("/devices/enrol")
@anybody
@limited("enrol")
@api.input(Enrolment)
@api.output(Enrolled, 201)
@api.doc(responses={403: "The code is unknown, used or too old."})
def enrol_device(json_data: Enrolment) -> Json:
    """Become a device of a study, with a code that works once."""
    with parts().database.writing() as session:
        row, token = services.enrol(session, json_data.code, json_data.public_key)
        study = session.get_one(Study, row.study_id)
        return {"device": row.code, "study": study.name, "kind": row.kind, "token": token}


@api.put("/device/heartbeat")
@device()
@api.input(Heartbeat)
@api.output({}, 204)
def beat(json_data: Heartbeat) -> str:
    """Say that the device lives, and how it is."""
    with parts().database.writing() as session:
        services.heartbeat(session, caller().id, json_data.model_dump())
    return ""


@api.get("/clock")
@device()
@api.output(Clock)
def read_clock() -> Json:
    """The server's clock, twice: when this request came and when its answer left."""
    return {"receive_us": g.happe_received_us, "send_us": now_us()}


@api.put("/device/clocks/<uuid:client_id>")
@device()
@api.input(Probes)
@api.output(EstimateOut, 201)
@api.doc(responses={200: "It was known.", 409: "This id has other probes."})
def put_clock(client_id: UUID, json_data: Probes) -> tuple[EstimateOut, int]:
    """Estimate how far the device's clock is from the server's. The device chooses the id and may send it again."""
    with parts().database.writing() as session:
        row, new = services.estimate_clock(session, caller().id, str(client_id), json_data.clock, json_data.probes)
        return EstimateOut.model_validate(row), 201 if new else 200


@api.put("/device/sitting")
@device(DeviceKind.LAPTOP)
@api.input(Sit)
@api.output(SittingOut)
@api.doc(responses={409: "The participant is not enrolled yet."})
def sit_down(json_data: Sit) -> Json:
    """A participant sits down at the laptop, which may start their runs from now on."""
    with parts().database.writing() as session:
        participant = sittings.sit(session, caller(), json_data.participant)
        study = session.get_one(Study, participant.study_id)
        return _sitting(study, participant, sittings.runs_of(session, participant))


@api.delete("/device/sitting")
@device(DeviceKind.LAPTOP)
@api.output({}, 204)
def stand_up() -> str:
    """The participant leaves the laptop."""
    with parts().database.writing() as session:
        sittings.leave(session, caller())
    return ""


def _invitation(row: Device, code: str) -> Json:
    return {"device": row.code, "enrolment_code": code, "expires_us": row.enrol_expires_us}


def _sitting(study: Study, participant: Participant, runs: list[Run]) -> Json:
    protocol = protocol_of(study)
    return {
        "participant": participant.code,
        "study": study.name,
        "title": protocol.title,
        "handout_read": participant.handout_us is not None,
        "rating": ScaleOut.model_validate(protocol.rating),
        "guess": _guess(protocol),
        "runs": [_run(protocol, run) for run in runs],
    }


def _guess(protocol: Protocol) -> GuessOut | None:
    if not protocol.guess.ask:
        return None
    choices = [ChoiceOut.model_validate(choice) for choice in protocol.guess_choices]
    return GuessOut(question=protocol.guess.question, choices=choices)


def _run(protocol: Protocol, run: Run) -> Json:
    application = protocol.application(run.application)
    return {
        "code": run.code,
        "position": run.position,
        "application": run.application,
        "name": application.name,
        "command": list(application.command),
        "cpu": application.cpu,
        "seconds": run.seconds,
        "practice_seconds": application.practice_seconds,
        "phase": run.phase,
        "state": run.state,
    }
