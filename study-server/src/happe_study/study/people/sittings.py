# SPDX-License-Identifier: GPL-2.0-or-later
"""A participant at a laptop. While a sitting lasts, the laptop may start that participant's runs."""

from sqlalchemy import or_, select, update
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.database import FOR_CHANGE
from happe_study.base.problems import FieldError, Problem, conflict, unprocessable
from happe_study.model.audit import chain
from happe_study.model.devices import Device, Sitting
from happe_study.model.participants import Participant
from happe_study.model.rules import Caller, Who
from happe_study.study.people import callers
from happe_study.study.people.holding import hold


def sit(session: Session, device: Caller, token: str) -> Participant:
    """Begin a sitting at the laptop of the participant with this token. Ends other sittings of laptop and participant.

    Does nothing if the participant sits there already. Problem 422: an unknown token. 409: not enrolled yet.
    """
    _lock(session, device)
    participant = _participant(session, device, token)
    if current(session, device.id) == participant.id:
        return participant
    close(session, device_id=device.id, participant_id=participant.id)
    session.add(Sitting(device_id=device.id, participant_id=participant.id, started_us=now_us()))
    about = {"study_id": device.study_id, "participant_id": participant.id}
    chain.append(session, "sitting.begun", device, **about, device=device.name, participant=participant.code)
    return participant


def leave(session: Session, device: Caller) -> None:
    """End the sitting at the laptop, if there is one."""
    _lock(session, device)
    hold(session, Participant.id == current(session, device.id))
    participant_id = current(session, device.id)
    if participant_id is None:  # also if a withdrawal has just ended the sitting
        return
    close(session, device_id=device.id)
    about = {"study_id": device.study_id, "participant_id": participant_id}
    chain.append(session, "sitting.ended", device, **about, device=device.name)


def close(session: Session, *, device_id: int | None = None, participant_id: int | None = None) -> None:
    """End every sitting at a device or of a participant."""
    where = or_(Sitting.device_id == device_id, Sitting.participant_id == participant_id)
    session.execute(update(Sitting).where(where, Sitting.ended_us.is_(None)).values(ended_us=now_us()))


def current(session: Session, device_id: int) -> int | None:
    """The id of the participant who sits at a device; None: nobody does."""
    query = select(Sitting.participant_id).where(Sitting.device_id == device_id, Sitting.ended_us.is_(None))
    return session.scalar(query.limit(1))


def _lock(session: Session, device: Caller) -> None:
    """Lock the laptop, so that only this transaction changes who sits there."""
    session.execute(select(Device.id).where(Device.id == device.id).with_for_update(**FOR_CHANGE))


def _participant(session: Session, device: Caller, token: str) -> Participant:
    who = callers.caller_of(session, token)
    if who is None or who.who is not Who.PARTICIPANT or who.study_id != device.study_id:
        raise _nobody()
    participant = session.get_one(Participant, who.id, with_for_update=FOR_CHANGE)
    if participant.ended_us is not None:  # while this waited for the lock
        raise _nobody()
    if participant.enrolled_us is None:
        raise conflict("not-enrolled", "The participant has not answered the questionnaire yet.")
    return participant


def _nobody() -> Problem:
    return unprocessable(
        "No participant of this study has this token.", FieldError("/participant", "is nobody's token")
    )
