# SPDX-License-Identifier: GPL-2.0-or-later
"""Slots: locking a study makes them. Each participant takes one, and returns it when dropping out."""

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from happe_study.base.config import Secrets
from happe_study.base.problems import conflict
from happe_study.model.participants import Participant
from happe_study.model.studies import Slot, Study
from happe_study.study.allocation import SlotPlan, plan
from happe_study.study.protocol.reading import Protocol
from happe_study.study.sealing import open_slot, seal_slot


def make_slots(
    session: Session, study: Study, protocol: Protocol, seed_and_salt: tuple[bytes, bytes], secrets: Secrets
) -> int:
    """Write the sealed slots of a study, and return their number. Positions count from 1 in each stratum."""
    rows = [
        {
            "study_id": study.id,
            "stratum": stratum,
            "position": position,
            "plan_sealed": seal_slot(secrets.allocation, (study.name, stratum, position), slot),
        }
        for stratum, slots in plan(protocol, *seed_and_salt).items()
        for position, slot in enumerate(slots, start=1)
    ]
    session.execute(insert(Slot), rows)
    return len(rows)


def take(session: Session, study: Study, participant: Participant, secrets: Secrets) -> SlotPlan:
    """Give a participant the first free slot of their stratum. Returns its plan. Problem 409: `enrolled` or `full`."""
    if session.scalar(select(Slot.id).where(Slot.participant_id == participant.id)):
        raise conflict("enrolled", "The participant is enrolled already.")
    slot = _next_slot(session, study, participant.stratum or "")
    slot.participant_id = participant.id
    return open_slot(secrets.allocation, (study.name, slot.stratum, slot.position), slot.plan_sealed)


def give_back(session: Session, participant: Participant) -> bool:
    """Free a participant's slot for the next participant of the stratum. Returns whether there was one."""
    slot = session.scalar(select(Slot).where(Slot.participant_id == participant.id).with_for_update())
    if slot is None:
        return False
    slot.participant_id = None
    session.flush()
    return True


def _next_slot(session: Session, study: Study, stratum: str) -> Slot:
    free = select(Slot).where(Slot.study_id == study.id, Slot.stratum == stratum, Slot.participant_id.is_(None))
    slot = session.scalar(free.order_by(Slot.position).limit(1).with_for_update(skip_locked=True))
    if slot is None:
        raise conflict("full", "Every place of this group of participants is taken.")
    return slot
