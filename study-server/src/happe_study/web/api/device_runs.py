# SPDX-License-Identifier: GPL-2.0-or-later
"""For laptops: who sits there; start, end and abort a run; its rating, guess and record."""

import base64
from typing import Annotated, Any, Literal
from uuid import UUID

from apiflask import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_contract.schemas import Kind
from happe_study.base.fields import Code, Reason, Strict
from happe_study.base.parts import parts
from happe_study.base.uploads import json_body, openapi_body, takes
from happe_study.model.participants import Participant
from happe_study.model.rules import DeviceKind, caller, device
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.study.people import sittings
from happe_study.study.protocol.reading import Protocol
from happe_study.study.records import services as records
from happe_study.study.runs import services
from happe_study.study.runs.machine import State
from happe_study.study.runs.steps import latest
from happe_study.study.studies.services import protocol_of

api = APIBlueprint("device_runs", __name__, url_prefix="/api/v1", tag="Runs of a laptop")

Json = dict[str, Any]

MOST_POINTS = 100  # above the scale of any protocol


class Start(Strict):
    """The start of a run, with an id that the laptop made. A repeated request has the same id."""

    id: Annotated[UUID, Field(strict=False)]


class Abortion(Strict):
    """Why a run doesn't count."""

    reason: Reason


class Rating(Strict):
    """A point of the protocol's scale, under an id that the client made."""

    id: Annotated[UUID, Field(strict=False)]
    rating: Annotated[int, Field(ge=0, le=MOST_POINTS)]


class Guess(Strict):
    """A key of the choices that the protocol offers, under an id that the client made."""

    id: Annotated[UUID, Field(strict=False)]
    guess: Annotated[str, Field(min_length=1, max_length=40)]


class Sealed(BaseModel):
    """The run's condition for the laptop, sealed to the laptop's key: 560 bytes in base64."""

    sealed: Annotated[str, Field(description="560 bytes in base64: the condition in a sealed box to the laptop's key")]


class RunState(BaseModel):
    """A run's code and state."""

    code: Code
    state: State


@api.post("/runs/<code>/start")
@device(DeviceKind.LAPTOP)
@api.input(Start)
@api.output(Sealed)
@api.doc(responses={409: "It can't be started now, by this laptop, or under this id; `type` gives the reason."})
def start_run(code: str, json_data: Start) -> dict[str, str]:
    """Start the next run of the participant at this laptop. A repeated id gets the same answer while the run lasts."""
    with parts().database.writing() as session:
        run = _found(session, code)
        sealed = services.start(session, run, caller(), str(json_data.id), parts().secrets)
        return {"sealed": base64.b64encode(sealed).decode("ascii")}


@api.put("/runs/<code>/end")
@device(DeviceKind.LAPTOP)
@api.output(RunState)
@api.doc(responses={403: "Another laptop started it.", 409: "It is not in progress, or has not lasted as planned."})
def end_run(code: str) -> dict[str, str]:
    """Report that a run has ended. Its participant may now rate it."""
    with parts().database.writing() as session:
        run = _found(session, code)
        services.require_lasted(session, run, parts().config.least_share_of_run)
        services.end(session, run, caller())
        return _state(run)


@api.post("/runs/<code>/abort")
@device(DeviceKind.LAPTOP)
@api.input(Abortion)
@api.output(RunState)
@api.doc(
    responses={
        403: "Another laptop started it.",
        409: "It is complete, was not started, or was aborted for another reason.",
    }
)
def abort_run(code: str, json_data: Abortion) -> dict[str, str]:
    """Abort a run, with the reason why it doesn't count."""
    with parts().database.writing() as session:
        run = _found(session, code)
        services.abort(session, run, json_data.reason, caller())
        return _state(run)


@api.put("/runs/<code>/rating")
@device(DeviceKind.LAPTOP)
@api.input(Rating)
@api.output(RunState)
@api.doc(responses={409: "It is rated already under another id, or can't be rated now."})
def rate_run(code: str, json_data: Rating) -> dict[str, str]:
    """Pass on the participant's rating of a run that has ended."""
    with parts().database.writing() as session:
        run = _found(session, code)
        services.require_lasted(session, run, parts().config.least_share_of_run)
        services.rate(session, run, str(json_data.id), json_data.rating, caller())
        return _state(run)


@api.put("/runs/<code>/guess")
@device(DeviceKind.LAPTOP)
@api.input(Guess)
@api.output(RunState)
@api.doc(responses={409: "It is guessed already under another id, or can't be guessed now."})
def guess_run(code: str, json_data: Guess) -> dict[str, str]:
    """Pass on the participant's guess of a rated run's condition."""
    with parts().database.writing() as session:
        run = _found(session, code)
        services.guess(session, run, str(json_data.id), json_data.guess, caller())
        return _state(run)


def _found(session: Session, code: str) -> Run:
    return services.find(session, caller().study_id or 0, code)


def _state(run: Run) -> dict[str, str]:
    return {"code": run.code, "state": run.state}


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


class Sit(Strict):
    """A participant sits down: `participant` is the token in their link."""

    participant: Annotated[str, Field(min_length=1, max_length=128)]


class RunOut(BaseModel):
    """A run, as a laptop sees it before the start: nothing about its condition."""

    code: str
    position: int
    application: str
    name: str
    command: list[str]
    cpu: Annotated[int | None, Field(description="null: any")]
    seconds: int
    practice_seconds: int
    phase: Literal["training", "main"]
    state: str


class ScaleOut(BaseModel):
    """The question after each run. The answer is a whole number from `lowest` to `highest`."""

    model_config = ConfigDict(from_attributes=True)

    question: str
    lowest: int
    highest: int
    lowest_label: str
    highest_label: str


class ChoiceOut(BaseModel):
    """A choice that the participant can make as a guess."""

    model_config = ConfigDict(from_attributes=True)

    key: str
    text: str


class GuessOut(BaseModel):
    """The question about a run's condition, and its choices, which are the same after every run."""

    question: str
    choices: list[ChoiceOut]


class SittingOut(BaseModel):
    """The participant whose runs a laptop may start, the runs, and the questions, which are the same for everybody."""

    participant: str
    study: str
    title: str
    handout_read: bool
    rating: ScaleOut
    guess: Annotated[GuessOut | None, Field(description="null: the protocol asks for no guess")]
    runs: list[RunOut]


@api.put("/device/sitting")
@device(DeviceKind.LAPTOP)
@api.input(Sit)
@api.output(SittingOut)
@api.doc(responses={409: "The participant is not enrolled yet."})
def sit_down(json_data: Sit) -> Json:
    """Begin a participant's sitting at the laptop, which may start their runs from now on."""
    with parts().database.writing() as session:
        participant = sittings.sit(session, caller(), json_data.participant)
        study = session.get_one(Study, participant.study_id)
        runs = session.scalars(select(Run).where(Run.participant_id == participant.id))
        return _sitting(study, participant, latest(runs))


@api.delete("/device/sitting")
@device(DeviceKind.LAPTOP)
@api.output({}, 204)
def stand_up() -> str:
    """End the sitting at the laptop."""
    with parts().database.writing() as session:
        sittings.leave(session, caller())
    return ""


def _sitting(study: Study, participant: Participant, runs: list[Run]) -> Json:
    protocol = protocol_of(study)
    return {
        "participant": participant.code,
        "study": study.name,
        "title": protocol.title,
        "handout_read": participant.handout_us is not None,
        "rating": ScaleOut.model_validate(protocol.rating),
        "guess": _guess(protocol),
        "runs": [_run_out(protocol, run) for run in runs],
    }


def _guess(protocol: Protocol) -> GuessOut | None:
    if not protocol.guess.ask:
        return None
    choices = [ChoiceOut.model_validate(choice) for choice in protocol.guess_choices]
    return GuessOut(question=protocol.guess.question, choices=choices)


def _run_out(protocol: Protocol, run: Run) -> Json:
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
