# SPDX-License-Identifier: GPL-2.0-or-later
"""Unblinding over HTTP, by custodians."""

from __future__ import annotations

from typing import Annotated, Any

from apiflask import APIBlueprint
from pydantic import BaseModel, ConfigDict, Field

from happe_study.base.parts import parts
from happe_study.model.rights import Right
from happe_study.model.rules import caller, staff
from happe_study.results import unblinding as services
from happe_study.results.unblinding import LONGEST_REASON, SHORTEST_REASON
from happe_study.study.runs import services as runs
from happe_study.study.studies import custodians
from happe_study.study.studies.services import find
from happe_study.web.api.studies import CommitmentOut, commitment_of

api = APIBlueprint("unblinding", __name__, url_prefix="/api/v1", tag="Studies")

Json = dict[str, Any]
MAY_NOT = "You are not a custodian, must still wait as a new custodian, or must give your password again."
NO_CONTROLS = r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]*$"  # except tab and newline


class Unblinding(BaseModel):
    """The reason, and the confirmation: the typed name of the study or code of the run."""

    model_config = ConfigDict(extra="forbid")

    reason: Annotated[str, Field(min_length=SHORTEST_REASON, max_length=LONGEST_REASON, pattern=NO_CONTROLS)]
    confirmation: Annotated[
        str, Field(min_length=1, max_length=64, pattern=NO_CONTROLS, description="the study's name, or the run's code")
    ]

    def order(self) -> services.Order:
        """The caller's order for the service."""
        return services.Order(caller(), self.reason, self.confirmation)


class UnblindedOut(CommitmentOut):
    """Seed and salt, and whether the allocation computed from them equals the sealed one.

    `other_slots` is the number of slots that differ. The lists have at most a hundred entries: `other_runs` differ from
    the plan, `unreadable_runs` have a condition that does not open, `unreadable_records` a record that does not open,
    and `unreadable_traces` are power traces whose manifest does not open.
    """

    agrees: bool
    commitment_agrees: bool
    other_slots: int
    other_runs: list[str]
    unreadable_runs: list[str]
    unreadable_records: list[str]
    unreadable_traces: list[str]


class UnblindedRunOut(BaseModel):
    """A run's condition. Only this answer contains it; the server does not store it."""

    run: str
    condition: str


@api.post("/studies/<study>/unblinding")
@staff(Right.UNBLIND, fresh=True)
@api.input(Unblinding)
@api.output(UnblindedOut)
@api.doc(responses={403: MAY_NOT, 409: "It is not locked, is unblinded already, or was locked under another key."})
def unblind_study(study: str, json_data: Unblinding) -> Json:
    """Unblind a study for everybody, for good. The confirmation is the study's name."""
    with parts().database.writing() as session:
        found = find(session, study)
        custodians.require(session, found, caller(), parts().config.custodian_wait_hours)
        check = services.unblind(session, found, parts().secrets, json_data.order())
        return commitment_of(found) | check.summary()


@api.post("/studies/<study>/runs/<code>/unblinding")
@staff(Right.UNBLIND, fresh=True)
@api.input(Unblinding)
@api.output(UnblindedRunOut)
@api.doc(
    responses={403: MAY_NOT, 409: "The study is not locked, is unblinded already, or was locked under another key."}
)
def unblind_run(study: str, code: str, json_data: Unblinding) -> Json:
    """Reveal one run's condition to the caller only, in an emergency. The confirmation is the run's code."""
    with parts().database.writing() as session:
        found = find(session, study)
        custodians.require(session, found, caller(), parts().config.custodian_wait_hours)
        run = runs.find(session, found.id, code)
        condition = services.unblind_run(session, found, run, parts().secrets, json_data.order())
        return {"run": run.code, "condition": condition}
