# SPDX-License-Identifier: GPL-2.0-or-later
"""Exclusions over HTTP: exclude a run or a participant, and count one again. The export `exclusions` lists them."""

from apiflask import APIBlueprint

from happe_study.base.fields import Closed, Code, Reason
from happe_study.base.parts import parts
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.model.runs import ExclusionReason
from happe_study.study.runs import exclusions as services
from happe_study.study.studies.services import find

api = APIBlueprint("exclusions", __name__, url_prefix="/api/v1", tag="Runs")


class Note(Closed):
    """Why, in words."""

    note: Reason


class NewExclusion(Note):
    """A run or a participant by its code, and why it does not count."""

    code: Code
    reason: ExclusionReason


@api.post("/studies/<study>/exclusions")
@staff(Right.PARTICIPANT_MANAGE)
@api.input(NewExclusion)
@api.output({}, 204)
@api.doc(responses={409: "It does not count anyway, or is excluded for another reason."})
def exclude(study: str, json_data: NewExclusion) -> str:
    """Exclude a run or a participant. Once a condition may be known, this is a sensitivity analysis only."""
    with parts().database.writing() as session:
        found = find(session, study)
        services.exclude(session, found, json_data.code, json_data.reason, json_data.note, caller())
    return ""


@api.post("/studies/<study>/exclusions/<code>/inclusion")
@staff(Right.PARTICIPANT_MANAGE)
@api.input(Note)
@api.output({}, 204)
@api.doc(responses={409: "It is not excluded, its participant's data are erased, or a condition may be known now."})
def include(study: str, code: str, json_data: Note) -> str:
    """Count an excluded run or participant again."""
    with parts().database.writing() as session:
        services.undo(session, find(session, study), code, json_data.note, caller())
    return ""
