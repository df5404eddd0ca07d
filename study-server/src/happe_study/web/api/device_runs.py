# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs over HTTP, for laptops: start, end and abort a run, and send the participant's rating and guess."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from apiflask import APIBlueprint
from pydantic import BaseModel, Field

from happe_study.base.fields import Code, Reason, Strict
from happe_study.base.parts import parts
from happe_study.model.rules import DeviceKind, caller, device
from happe_study.study.runs import services
from happe_study.study.runs.machine import State

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.model.runs import Run

api = APIBlueprint("device_runs", __name__, url_prefix="/api/v1", tag="Runs of a laptop")

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
