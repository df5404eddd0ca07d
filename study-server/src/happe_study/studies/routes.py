# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies over HTTP: created from a protocol, locked, looked at, unblinded.

The commitment is for everybody who knows the study's name: it is published so that people without an account can note
it when the study is locked, and check it when it is unblinded. A draft has none, and is not found.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from apiflask import APIBlueprint
from flask import request
from pydantic import BaseModel, ConfigDict, Field

from happe_study.access.rights import Right
from happe_study.access.rules import (
    DeviceKind,
    anybody,
    caller,
    staff,
)
from happe_study.base.parts import parts
from happe_study.base.problems import not_found, too_large
from happe_study.base.uploads import require_type
from happe_study.design.protocol.reading import MOST_BYTES
from happe_study.design.study import Study, StudyState  # noqa: TC001 - a model's field
from happe_study.results.unblinding import services as unblinding
from happe_study.results.unblinding.services import LONGEST_REASON, SHORTEST_REASON
from happe_study.runs.course import services as runs
from happe_study.studies import custodians, services

api = APIBlueprint("studies", __name__, url_prefix="/api/v1", tag="Studies")

Json = dict[str, Any]
TOML = ("application/toml", "text/plain")
TOML_BODY = {"requestBody": {"required": True, "content": {kind: {"schema": {"type": "string"}} for kind in TOML}}}
MAY_NOT = "You are no custodian, have not been one for long enough, or must give your password again."
NO_CONTROLS = r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]*$"  # but tab and newline


class StudyLine(BaseModel):
    """A study in a list."""

    name: str
    title: str
    state: StudyState


class StudiesOut(BaseModel):
    """The studies that the caller may read, by name."""

    studies: list[StudyLine]


class StudyOut(StudyLine):
    """A study. `protocol` is its TOML text; times are microseconds since 1970."""

    protocol: str
    protocol_sha256: str
    commitment: str | None
    created_us: int
    locked_us: int | None
    unblinded_us: int | None


class SlotsOut(BaseModel):
    """How many of a stratum's slots are taken. Without strata there is one, ""."""

    stratum: str
    slots: int
    taken: int


class DeviceLine(BaseModel):
    """A device's last sign of life."""

    code: str
    name: str
    kind: DeviceKind
    enrolled: bool
    heartbeat_us: int | None


class CustodianOut(BaseModel):
    """Who may unblind a study: since when, and from when on if not at once or since its lock.

    `password_given_us`: when somebody else last chose the password.
    """

    email: str
    active: bool
    since_us: int
    password_given_us: int | None
    unblinds_from_us: int | None


class StatusOut(BaseModel):
    """How far a study is. Participants and runs are counted by their state."""

    study: str
    state: StudyState
    slots: list[SlotsOut]
    participants: dict[str, int]
    runs: dict[str, int]
    devices: list[DeviceLine]
    custodians: list[CustodianOut]


class CommitmentOut(BaseModel):
    """SHA-256 of seed and salt, and after unblinding seed and salt themselves; all in hexadecimal.

    docs/protocol.md says how to compute the allocation from them and from the protocol of this SHA-256.
    """

    study: str
    state: StudyState
    protocol_sha256: str
    commitment: str
    locked_us: int
    unblinded_us: int | None
    seed: str | None
    salt: str | None


class Unblinding(BaseModel):
    """Why, and the name of the study or the code of the run, typed."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[str, Field(min_length=SHORTEST_REASON, max_length=LONGEST_REASON, pattern=NO_CONTROLS)]
    confirmation: Annotated[str, Field(min_length=1, max_length=64, pattern=NO_CONTROLS)]

    def order(self) -> unblinding.Order:
        """What the caller orders."""
        return unblinding.Order(caller(), self.reason, self.confirmation)


class UnblindedOut(CommitmentOut):
    """Seed and salt, and whether the allocation computed from them is the one that was sealed.

    `other_slots` counts slots, `other_runs` and `unreadable_runs` name runs (the first hundred), for which it is not;
    `unreadable_records` names runs whose record is not as it was kept.
    """

    agrees: bool
    commitment_agrees: bool
    other_slots: int
    other_runs: list[str]
    unreadable_runs: list[str]
    unreadable_records: list[str]


class UnblindedRunOut(BaseModel):
    """A run's condition. It is told this once, and stored nowhere."""

    run: str
    condition: str


@api.get("/studies")
@staff(Right.STUDY_READ)
@api.output(StudiesOut)
def list_studies() -> Json:
    """List the studies that one may read."""
    with parts().database.reading() as session:
        fields = StudyLine.model_fields
        return {"studies": [{f: getattr(each, f) for f in fields} for each in services.visible(session, caller())]}


@api.post("/studies")
@staff(Right.STUDY_CREATE)
@api.output(StudyOut, 201)
@api.doc(
    responses={200: "The draft has this protocol now.", 409: "The study is locked, or is another's."},
    extensions=TOML_BODY,
)
def create_study() -> tuple[Json, int]:
    """Create a study from its protocol, or give a draft another one. The body is the protocol's TOML."""
    require_type(TOML)
    if (request.content_length or 0) > MOST_BYTES:
        raise too_large(f"A protocol may have at most {MOST_BYTES} bytes.")
    with parts().database.writing() as session:
        study, new = services.put(session, request.get_data(cache=False), caller())
        return _shown(study), HTTPStatus.CREATED if new else HTTPStatus.OK


@api.get("/studies/<study>")
@staff(Right.STUDY_READ)
@api.output(StudyOut)
def read_study(study: str) -> Json:
    """Read a study and its protocol."""
    with parts().database.reading() as session:
        return _shown(services.find(session, study))


@api.post("/studies/<study>/lock")
@staff(Right.STUDY_LOCK)
@api.output(StudyOut)
@api.doc(responses={409: "It is locked already, or not ready: `errors` lists what is missing."})
def lock_study(study: str) -> Json:
    """Draw and seal the allocation, and publish the commitment. The protocol stays as it is from now on."""
    with parts().database.writing() as session:
        found = services.find(session, study)
        services.lock(session, found, parts().secrets, caller())
        return _shown(found)


@api.get("/studies/<study>/status")
@staff(Right.STUDY_READ)
@api.output(StatusOut)
def read_status(study: str) -> Json:
    """Count participants and runs by state; read devices' last signs of life, and who may unblind the study when."""
    with parts().database.reading() as session:
        found = services.find(session, study)
        holders = custodians.shown(session, found, parts().config.custodian_wait_hours)
        return {**services.status(session, found), "custodians": holders}


@api.get("/studies/<study>/commitment")
@anybody
@api.output(CommitmentOut)
def read_commitment(study: str) -> Json:
    """Read the commitment of a locked study; of an unblinded one also seed and salt. Anybody may."""
    with parts().database.reading() as session:
        return _commitment(services.find(session, study))


@api.post("/studies/<study>/unblinding")
@staff(Right.UNBLIND, fresh=True)
@api.input(Unblinding)
@api.output(UnblindedOut)
@api.doc(responses={403: MAY_NOT, 409: "It is not locked, is unblinded already, or was locked under another key."})
def unblind_study(study: str, json_data: Unblinding) -> Json:
    """Unblind a study for everybody, for good. Type its name as the confirmation."""
    with parts().database.writing() as session:
        found = services.find(session, study)
        custodians.require(session, found, caller(), parts().config.custodian_wait_hours)
        check = unblinding.unblind(session, found, parts().secrets, json_data.order())
        return _commitment(found) | check.summary()


@api.post("/studies/<study>/runs/<code>/unblinding")
@staff(Right.UNBLIND, fresh=True)
@api.input(Unblinding)
@api.output(UnblindedRunOut)
@api.doc(
    responses={403: MAY_NOT, 409: "The study is not locked, is unblinded already, or was locked under another key."}
)
def unblind_run(study: str, code: str, json_data: Unblinding) -> Json:
    """Tell the caller alone one run's condition, in an emergency. Type its code as the confirmation."""
    with parts().database.writing() as session:
        found = services.find(session, study)
        custodians.require(session, found, caller(), parts().config.custodian_wait_hours)
        run = runs.find(session, found.id, code)
        condition = unblinding.unblind_run(session, found, run, parts().secrets, json_data.order())
        return {"run": run.code, "condition": condition}


def _shown(study: Study) -> Json:
    return {field: getattr(study, field) for field in StudyOut.model_fields}


def _commitment(study: Study) -> Json:
    if study.commitment is None:
        raise not_found()
    return {
        "study": study.name,
        "state": study.state,
        "protocol_sha256": study.protocol_sha256,
        "commitment": study.commitment,
        "locked_us": study.locked_us,
        "unblinded_us": study.unblinded_us,
        "seed": study.seed.hex() if study.seed else None,
        "salt": study.salt.hex() if study.salt else None,
    }
