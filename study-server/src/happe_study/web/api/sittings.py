# SPDX-License-Identifier: GPL-2.0-or-later
"""Sittings over HTTP, for laptops: who sits at the laptop, their runs, and the questions after each run."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from apiflask import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from happe_study.base.fields import Strict
from happe_study.base.parts import parts
from happe_study.model.participants import Participant
from happe_study.model.rules import DeviceKind, caller, device
from happe_study.model.runs import Run
from happe_study.model.studies import Study
from happe_study.study.people import sittings
from happe_study.study.protocol.reading import Protocol
from happe_study.study.runs.steps import latest
from happe_study.study.studies.services import protocol_of

api = APIBlueprint("sittings", __name__, url_prefix="/api/v1", tag="Devices")

Json = dict[str, Any]


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
