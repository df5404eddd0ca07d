# SPDX-License-Identifier: GPL-2.0-or-later
"""The numbers of slots, participants and runs in a study. No number is by condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, union_all

from happe_study.model.devices import Device
from happe_study.model.participants import GONE, Participant, ParticipantState
from happe_study.model.runs import Run
from happe_study.model.studies import Slot
from happe_study.study.runs.machine import State

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from happe_study.model.studies import Study


def status(session: Session, study: Study) -> dict[str, Any]:
    """The progress of a study: slots, participants and runs by state, and the devices' last heartbeats.

    Runs of participants who withdrew or were replaced do not count. No number is by condition.
    """
    about = {"study": study.name, "state": study.state}
    return about | _counts(session, study) | {"devices": _devices(session, study)}


def _counts(session: Session, study: Study) -> dict[str, Any]:
    """The numbers of slots, participants and runs."""
    runs = dict.fromkeys(map(str, State), 0) | _runs(session, study)
    participants = dict.fromkeys(map(str, ParticipantState), 0) | _participants(session, study)
    return {"slots": _slots(session, study), "participants": participants, "runs": runs}


def _slots(session: Session, study: Study) -> list[dict[str, Any]]:
    counts = select(Slot.stratum, func.count(), func.count(Slot.participant_id)).where(Slot.study_id == study.id)
    rows = session.execute(counts.group_by(Slot.stratum).order_by(Slot.stratum))
    return [{"stratum": stratum, "slots": slots, "taken": taken} for stratum, slots, taken in rows]


def _participants(session: Session, study: Study) -> dict[str, int]:
    counts = select(Participant.state, func.count()).where(Participant.study_id == study.id)
    return {state: count for state, count in session.execute(counts.group_by(Participant.state))}  # noqa: C416 - rows


def _runs(session: Session, study: Study) -> dict[str, int]:
    """The study's runs by state. It subtracts those of participants who left, because these are few."""
    every = select(Run.state, func.count().label("runs")).where(Run.study_id == study.id).group_by(Run.state)
    gone = select(Run.state, -func.count()).join(Participant, Run.participant_id == Participant.id)
    gone = gone.where(Participant.study_id == study.id, Participant.state.in_(GONE)).group_by(Run.state)
    both = union_all(every, gone).subquery()
    rows = session.execute(select(both.c.state, func.sum(both.c.runs)).group_by(both.c.state))
    return {state: int(count) for state, count in rows}


def _devices(session: Session, study: Study) -> list[dict[str, Any]]:
    devices = session.scalars(select(Device).where(Device.study_id == study.id).order_by(Device.code))
    return [
        {
            "code": device.code,
            "name": device.name,
            "kind": device.kind,
            "enrolled": device.enrolled_us is not None and device.revoked_us is None,
            "heartbeat_us": device.heartbeat_us,
        }
        for device in devices
    ]
