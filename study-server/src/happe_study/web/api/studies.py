# SPDX-License-Identifier: GPL-2.0-or-later
"""Studies over HTTP: creating them from a protocol, reading and locking them.

Anybody who knows a study's name can read its commitment: people without an account note it when the study is locked,
and check it when the study is unblinded. A draft has no commitment, so the answer is 404.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from apiflask import APIBlueprint
from flask import request
from pydantic import BaseModel, Field

from happe_study.base.parts import parts
from happe_study.base.problems import not_found
from happe_study.base.uploads import require_type, takes
from happe_study.model.rights import Right
from happe_study.model.rules import anybody, caller, staff
from happe_study.model.studies import Study, StudyState
from happe_study.study.protocol.reading import MOST_BYTES
from happe_study.study.studies import services

api = APIBlueprint("studies", __name__, url_prefix="/api/v1", tag="Studies")

Json = dict[str, Any]
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
