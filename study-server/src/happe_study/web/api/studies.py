# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies over HTTP: creating them from a protocol, reading, locking and unblinding them.

Anybody who knows a study's name can read its commitment: people without an account note it when the study is locked,
and check it when the study is unblinded. A draft has no commitment, so the answer is 404.
"""

from http import HTTPStatus
from typing import Annotated, Any

from apiflask import APIBlueprint
from flask import request
from pydantic import BaseModel, Field

from happe_study.base.fields import Closed
from happe_study.base.parts import parts
from happe_study.base.problems import not_found
from happe_study.base.uploads import require_type, takes
from happe_study.model.rights import Right
from happe_study.model.rules import DeviceKind, anybody, caller, staff
from happe_study.model.studies import Study, StudyState
from happe_study.results import unblinding
from happe_study.results.gate import excluded, unfinished
from happe_study.results.overview import status
from happe_study.results.unblinding import LONGEST_REASON, SHORTEST_REASON, Order
from happe_study.study.protocol.reading import MOST_BYTES
from happe_study.study.runs import services as runs
from happe_study.study.studies import custodians, services

api = APIBlueprint("studies", __name__, url_prefix="/api/v1", tag="Studies")

Json = dict[str, Any]
MAY_NOT = "You are not a custodian, must still wait as a new custodian, or must give your password again."
NOT_NOW = (
    "It is not locked, is unblinded already, was locked under another key, or is unfinished (`errors` says what) and "
    "there is no override."
)
NO_CONTROLS = r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]*$"  # except tab and newline
TOML = ("application/toml", "text/plain")
TOML_BODY = {"requestBody": {"required": True, "content": {kind: {"schema": {"type": "string"}} for kind in TOML}}}


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
    commitment: Annotated[str | None, Field(description="SHA-256 of seed and salt; null: a draft")]
    created_us: int
    locked_us: int | None
    unblinded_us: int | None


class CommitmentOut(BaseModel):
    """SHA-256 of seed and salt, and after unblinding seed and salt themselves; all in hexadecimal.

    docs/allocation.md says how to compute the allocation from them and from the protocol of this SHA-256.
    """

    study: str
    state: StudyState
    protocol_sha256: str
    commitment: str
    locked_us: int
    unblinded_us: int | None
    seed: Annotated[str | None, Field(description="32 bytes in hexadecimal; null before unblinding")]
    salt: str | None


@api.get("/studies")
@staff(Right.STUDY_READ)
@api.output(StudiesOut)
def list_studies() -> Json:
    """List the studies that the caller may read."""
    with parts().database.reading() as session:
        fields = StudyLine.model_fields
        return {"studies": [{f: getattr(each, f) for f in fields} for each in services.visible(session, caller())]}


@api.post("/studies")
@staff(Right.STUDY_CREATE)
@takes(MOST_BYTES)
@api.output(StudyOut, 201)
@api.doc(
    responses={
        200: "The draft now has this protocol.",
        409: "The study is locked, or the name belongs to another study.",
    },
    extensions=TOML_BODY,
)
def create_study() -> tuple[Json, int]:
    """Create a study from its protocol, or give a draft another one. The body is the protocol's TOML."""
    require_type(TOML)
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
    """Draw and seal the allocation, and publish the commitment. The protocol can't change afterwards."""
    with parts().database.writing() as session:
        found = services.find(session, study)
        services.lock(session, found, parts().secrets, caller())
        return _shown(found)


@api.get("/studies/<study>/commitment")
@anybody
@api.output(CommitmentOut)
def readcommitment_of(study: str) -> Json:
    """Read the commitment of a locked study, and the seed and salt of an unblinded one. Anybody may."""
    with parts().database.reading() as session:
        return commitment_of(services.find(session, study))


def _shown(study: Study) -> Json:
    return {field: getattr(study, field) for field in StudyOut.model_fields}


def commitment_of(study: Study) -> Json:
    """A locked study's commitment, as anybody may read it. Raises Problem 404 for a draft."""
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


class SlotsOut(BaseModel):
    """How many of a stratum's slots are taken. A study without strata has one stratum, ""."""

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
    """Somebody who may unblind a study, since when they have the role, and from when they may (None: without waiting).

    `password_given_us`: when somebody else last chose the password.
    """

    email: str
    active: bool
    since_us: int
    password_given_us: int | None
    unblinds_from_us: int | None


class StatusOut(BaseModel):
    """The progress of a study: participants and runs counted by state."""

    study: str
    state: StudyState
    slots: list[SlotsOut]
    participants: dict[str, int]
    runs: dict[str, int]
    unfinished: Annotated[list[str], Field(description="what an unblinding now would have to override")]
    excluded: Annotated[list[str], Field(description="the numbers of excluded participants and runs, by reason")]
    devices: list[DeviceLine]
    custodians: list[CustodianOut]


@api.get("/studies/<study>/status")
@staff(Right.STUDY_READ)
@api.output(StatusOut)
def read_status(study: str) -> dict[str, Any]:
    """Count participants and runs by state; read what is unfinished, devices' last signs, and who may unblind when."""
    with parts().database.reading() as session:
        found = services.find(session, study)
        holders = custodians.shown(session, found, parts().config.custodian_wait_hours)
        gate = {"unfinished": unfinished(session, found), "excluded": excluded(session, found)}
        return {**status(session, found), **gate, "custodians": holders}


class RunUnblinding(Closed):
    """The reason, and the confirmation: the typed name of the study or code of the run."""

    reason: Annotated[str, Field(min_length=SHORTEST_REASON, max_length=LONGEST_REASON, pattern=NO_CONTROLS)]
    confirmation: Annotated[
        str, Field(min_length=1, max_length=64, pattern=NO_CONTROLS, description="the study's name, or the run's code")
    ]

    def order(self) -> Order:
        """The caller's order for the service."""
        return Order(caller(), **self.model_dump())


class Unblinding(RunUnblinding):
    """The same for a study, and why it is unblinded although something is unfinished (`unfinished` in its status)."""

    override: Annotated[str, Field(max_length=LONGEST_REASON, pattern=NO_CONTROLS)] = ""


class UnblindedOut(CommitmentOut):
    """Seed and salt, and whether the allocation computed from them equals the sealed one.

    `other_slots` is the number of slots that differ. The lists have at most a hundred entries: `other_runs` differ from
    the plan, `unreadable_runs` have a condition that does not open, `unreadable_records` a record that does not open,
    and `unreadable_traces` are power traces whose manifest does not open. `unfinished` is what the override was about.
    """

    agrees: bool
    commitment_agrees: bool
    other_slots: int
    other_runs: list[str]
    unreadable_runs: list[str]
    unreadable_records: list[str]
    unreadable_traces: list[str]
    unfinished: list[str]


class UnblindedRunOut(BaseModel):
    """A run's condition. Only this answer contains it; the server does not store it."""

    run: str
    condition: str


@api.post("/studies/<study>/unblinding")
@staff(Right.UNBLIND, fresh=True)
@api.input(Unblinding)
@api.output(UnblindedOut)
@api.doc(responses={403: MAY_NOT, 409: NOT_NOW})
def unblind_study(study: str, json_data: Unblinding) -> Json:
    """Unblind a study for everybody, for good. The confirmation is the study's name."""
    with parts().database.writing() as session:
        found = services.find(session, study)
        custodians.require(session, found, caller(), parts().config.custodian_wait_hours)
        check = unblinding.unblind(session, found, parts().secrets, json_data.order())
        return commitment_of(found) | check.summary()


@api.post("/studies/<study>/runs/<code>/unblinding")
@staff(Right.UNBLIND, fresh=True)
@api.input(RunUnblinding)
@api.output(UnblindedRunOut)
@api.doc(
    responses={403: MAY_NOT, 409: "The study is not locked, is unblinded already, or was locked under another key."}
)
def unblind_run(study: str, code: str, json_data: RunUnblinding) -> Json:
    """Reveal one run's condition to the caller only, in an emergency. The confirmation is the run's code."""
    with parts().database.writing() as session:
        found = services.find(session, study)
        custodians.require(session, found, caller(), parts().config.custodian_wait_hours)
        run = runs.find(session, found.id, code)
        condition = unblinding.unblind_run(session, found, run, parts().secrets, json_data.order())
        return {"run": run.code, "condition": condition}
