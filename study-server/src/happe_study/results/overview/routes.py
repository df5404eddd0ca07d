# SPDX-License-Identifier: GPL-2.0-or-later
"""How far a study is, over HTTP."""

from __future__ import annotations

from typing import Any

from apiflask import APIBlueprint
from pydantic import BaseModel

from happe_study.access.rights import Right
from happe_study.access.rules import DeviceKind, staff
from happe_study.base.parts import parts
from happe_study.design.study import StudyState  # noqa: TC001 - a model's field
from happe_study.results.overview.status import status
from happe_study.studies import custodians
from happe_study.studies.services import find

api = APIBlueprint("overview", __name__, url_prefix="/api/v1", tag="Studies")


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


@api.get("/studies/<study>/status")
@staff(Right.STUDY_READ)
@api.output(StatusOut)
def read_status(study: str) -> dict[str, Any]:
    """Count participants and runs by state; read devices' last signs of life, and who may unblind the study when."""
    with parts().database.reading() as session:
        found = find(session, study)
        holders = custodians.shown(session, found, parts().config.custodian_wait_hours)
        return {**status(session, found), "custodians": holders}
