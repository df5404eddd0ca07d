# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs over HTTP, for staff: read, abort and replace them.

Answers contain only listed fields. Before unblinding, nobody sees a condition or a guess: a guess is often right, since
a participant has seen the battery indicator. Only staff who may export data see ratings. Experimenters, who sit beside
the participants, see only whether a run is rated.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from apiflask import APIBlueprint
from flask import g
from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_study.base.fields import Code
from happe_study.base.paging import Page, rows_after
from happe_study.base.parts import parts
from happe_study.model.devices import Device
from happe_study.model.participants import Participant
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.runs import Run
from happe_study.model.studies import Study, StudyState
from happe_study.study.runs import services
from happe_study.study.runs.machine import State
from happe_study.web.api.device_runs import Abortion

api = APIBlueprint("runs", __name__, url_prefix="/api/v1", tag="Runs")

Json = dict[str, Any]


class RunsPage(Page):
    """Filters for a list of runs."""

    state: State | None = None
    participant: Code | None = None


class RunOut(BaseModel):
    """A run, as staff see it: `rating` only if they may export data, `guess` and `condition` only after unblinding."""

    code: Code
    participant: Code
    position: int
    attempt: int
    application: str
    seconds: int
    state: State
    device: str | None
    started_us: int | None
    ended_us: int | None
    rated_us: int | None
    rating: int | None
    guessed_us: int | None
    guess: Annotated[str | None, Field(description="null before unblinding")]
    record_us: int | None
    completed_us: int | None
    aborted_us: int | None
    abort_reason: str | None
    condition: Annotated[str | None, Field(description="null before unblinding")]


class RunsOut(BaseModel):
    """A page of runs in random order; `next` is the cursor of the next page."""

    runs: list[RunOut]
    next: str | None


SHOWN = frozenset(RunOut.model_fields) - {"participant", "device", "rating", "guess", "condition"}


@api.get("/studies/<study>/runs")
@staff(Right.RUN_READ)
@api.input(RunsPage, location="query")
@api.output(RunsOut)
@api.doc(responses={422: "The state, code or page does not exist."})
def list_runs(study: str, query_data: RunsPage) -> Json:
    """List a study's runs."""
    study_id: int = g.happe_study_ids(study)
    with parts().database.reading() as session:
        query = select(Run).where(Run.study_id == study_id)
        if query_data.participant is not None:  # an index finds a participant's few runs
            mine = select(Participant.id).where(Participant.code == query_data.participant)
            whose = session.scalar(mine.where(Participant.study_id == study_id))
            query = select(Run).where(Run.participant_id == whose)
        if query_data.state is not None:
            query = query.where(Run.state == query_data.state)
        rows, following = rows_after(session, query, Run.code, query_data)
        return {"runs": shown(session, study_id, rows), "next": following}


@api.get("/studies/<study>/runs/<code>")
@staff(Right.RUN_READ)
@api.output(RunOut)
def read_run(study: str, code: str) -> Json:
    """Read a run."""
    study_id: int = g.happe_study_ids(study)
    with parts().database.reading() as session:
        return shown(session, study_id, [services.find(session, study_id, code)])[0]


@api.post("/studies/<study>/runs/<code>/abort")
@staff(Right.RUN_MANAGE)
@api.input(Abortion)
@api.output(RunOut)
@api.doc(responses={409: "It is complete, was not started, or was aborted for another reason."})
def abort_run(study: str, code: str, json_data: Abortion) -> Json:
    """Abort a run, with the reason why it doesn't count. It can be replaced then."""
    study_id: int = g.happe_study_ids(study)
    with parts().database.writing() as session:
        run = services.find(session, study_id, code)
        services.abort(session, run, json_data.reason, caller())
        return shown(session, study_id, [run])[0]


@api.post("/studies/<study>/runs/<code>/replacement")
@staff(Right.RUN_MANAGE)
@api.output(RunOut, 201)
@api.doc(responses={409: "It is not aborted, or its participant no longer takes part."})
def replace_run(study: str, code: str) -> Json:
    """Plan another attempt in place of an aborted run, under a new code. A repeated request gets the same attempt."""
    study_id: int = g.happe_study_ids(study)
    with parts().database.writing() as session:
        run = services.find(session, study_id, code)
        new = services.replace(session, run, parts().secrets, caller())
        return shown(session, study_id, [new])[0]


def shown(session: Session, study_id: int, runs: Sequence[Run]) -> list[Json]:
    """Runs of one study, with the fields that the caller may see."""
    unblinded = session.get_one(Study, study_id).state == StudyState.UNBLINDED
    participants = _codes(session, Participant, {run.participant_id for run in runs})
    devices = _codes(session, Device, {run.device_id for run in runs})
    sees_ratings = caller().may(Right.EXPORT, study_id)
    return [
        {name: getattr(run, name) for name in SHOWN}
        | {
            "participant": participants[run.participant_id],
            "device": devices.get(run.device_id),
            "rating": run.rating if sees_ratings else None,
            "guess": run.guess if unblinded else None,
            "condition": run.condition if unblinded else None,
        }
        for run in runs
    ]


def _codes(session: Session, table: type[Participant | Device], ids: set[int | None]) -> dict[int | None, str]:
    rows = session.execute(select(table.id, table.code).where(table.id.in_(ids - {None})))
    return {row_id: code for row_id, code in rows}  # noqa: C416 - mypy does not take the rows for pairs
