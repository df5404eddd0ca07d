# SPDX-License-Identifier: GPL-2.0-or-later
"""The progress of a study, over HTTP."""

from __future__ import annotations

from typing import Any

from apiflask import APIBlueprint
from pydantic import BaseModel

from happe_study.base.parts import parts
from happe_study.model.rights import Right
from happe_study.model.rules import DeviceKind, staff
from happe_study.model.studies import StudyState
from happe_study.results.overview import status
from happe_study.study.studies import custodians
from happe_study.study.studies.services import find

api = APIBlueprint("overview", __name__, url_prefix="/api/v1", tag="Studies")


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
