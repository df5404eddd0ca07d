# SPDX-License-Identifier: GPL-2.0-or-later
"""The progress of a study, its next participants, and what needs somebody's attention. No number is by condition.

Before unblinding it shows times and parts of power traces, but no sizes: docs/blinding.md.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import BigInteger, case, cast, func, select, union_all
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.model.devices import ClockEstimate, Device, Sitting
from happe_study.model.participants import GONE, Participant, ParticipantState
from happe_study.model.rights import Right
from happe_study.model.rules import DeviceKind
from happe_study.model.runs import Run
from happe_study.model.studies import Slot, Study, StudyState
from happe_study.model.traces import Trace, TracePart
from happe_study.study.people.devices import last_clocks
from happe_study.study.runs.machine import State

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
SILENT_US = 5 * MINUTE_US  # a recording meter reports every half minute
LATE_US = HOUR_US  # a record or part that takes longer is late
STALE_US = 24 * HOUR_US  # an older report of a device is ignored
LEAST_GIB = 5
MOST_CLOCK_US = 100_000  # `happe-power measure` refuses a larger uncertainty
MOST_NAMED = 8  # runs named for each kind of problem, and next participants
WORDS = {
    ParticipantState.CONSENTED: "has agreed, and must answer the questionnaire",
    ParticipantState.INVITED: "is invited, and must open the link and agree",
}


@dataclass(frozen=True)
class Next:
    """A participant's code, and their next step in words."""

    code: str
    words: str


@dataclass(frozen=True)
class Uploads:
    """A meter's uploads. `bytes` is None before the study is unblinded."""

    traces: int
    sealed: int
    parts: int
    last_us: int | None
    bytes: int | None


@dataclass(frozen=True)
class DeviceNow:
    """A device with its last clock estimate and its uploads."""

    device: Device
    clock: ClockEstimate | None
    uploads: Uploads | None

    @property
    def contact_us(self) -> int | None:
        """When it was last in contact: it reported, compared clocks, or uploaded."""
        upload = self.uploads.last_us if self.uploads else None
        compared = self.clock.server_us if self.clock else None
        return max((at for at in (self.device.heartbeat_us, compared, upload) if at), default=None)


@dataclass(frozen=True)
class Attention:
    """Something that needs attention, in words, with the code of the run (or "") and the time."""

    words: str
    run: str = ""
    at_us: int | None = None


@dataclass(frozen=True)
class Progress:
    """A study's present state, without what the caller has no right to see."""

    status: dict[str, Any]
    devices: list[DeviceNow]
    attention: list[Attention]
    upcoming: list[Next]

    @property
    def places(self) -> int:
        """The number of places (slots) of the study."""
        return int(sum(each["slots"] for each in self.status["slots"]))

    @property
    def taken(self) -> int:
        """The number of places that are taken."""
        return int(sum(each["taken"] for each in self.status["slots"]))

    @property
    def runs(self) -> int:
        """The number of runs, without replaced ones."""
        return int(sum(self.status["runs"].values()) - self.status["runs"]["replaced"])

    @property
    def said(self) -> str:
        """The progress in one sentence."""
        status = self.status
        attention = f"; {len(self.attention)} need attention" if self.attention else ""
        return (
            f"{status['participants']['done']} of {self.places} participants are done, "
            f"{status['runs']['complete']} of {self.runs} runs complete{attention}."
        )


def progress(session: Session, study: Study, rights: frozenset[Right]) -> Progress:
    """The progress of a study, for a caller with these rights in it."""
    sees_devices, sees_runs = Right.DEVICE_READ in rights, Right.RUN_READ in rights
    devices = _devices(session, study) if sees_devices else []
    attention = [each for device in devices for each in _of_device(device)]
    attention += _of_runs(session, study) if sees_runs else []
    those = upcoming(session, study) if sees_runs and study.state == StudyState.LOCKED else []
    return Progress(status(session, study), devices, attention, those)


def _devices(session: Session, study: Study) -> list[DeviceNow]:
    rows = session.scalars(select(Device).where(Device.study_id == study.id).order_by(Device.name)).all()
    clocks, uploads = last_clocks(session, study.id), _uploads(session, study)
    return [DeviceNow(row, clocks.get(row.id), uploads.get(row.id)) for row in rows]


def _uploads(session: Session, study: Study) -> dict[int, Uploads]:
    """The uploads by meter. A sealed trace's row has the number of its parts, which saves counting very many rows."""
    counts = (func.count(), func.count(Trace.sealed_us), func.coalesce(func.sum(Trace.parts), 0))
    columns = (Trace.device_id, *counts, func.max(Trace.sealed_us), func.sum(Trace.stored_bytes))
    whole = session.execute(select(*columns).where(Trace.study_id == study.id).group_by(Trace.device_id))
    coming = select(Trace.device_id, func.count(TracePart.id), func.max(TracePart.received_us))
    mine = coming.join(TracePart, TracePart.trace_id == Trace.id).where(Trace.study_id == study.id)
    rows = session.execute(mine.where(Trace.sealed_us.is_(None)).group_by(Trace.device_id))
    open_parts = {device: (parts, last) for device, parts, last in rows}
    shows_bytes = study.state == StudyState.UNBLINDED
    found = {}
    for device, traces, sealed, parts, sealed_us, size in whole:
        more, last_us = open_parts.get(device, (0, sealed_us))
        found[device] = Uploads(
            traces, sealed, int(parts or 0) + more, last_us, int(size or 0) if shows_bytes else None
        )
    return found


def _of_device(now: DeviceNow) -> list[Attention]:
    """The problems of a device, if it is enrolled."""
    device, said = now.device, now.device.heartbeat or {}
    if device.enrolled_us is None or device.revoked_us is not None:
        return []
    found = []
    age_us = now_us() - (device.heartbeat_us or 0)
    if now.uploads and now.uploads.traces > now.uploads.sealed:
        if said.get("state") == "recording" and age_us > SILENT_US:
            found.append(Attention(f"{device.name} was recording, but no longer reports", at_us=device.heartbeat_us))
        elif now.uploads.last_us and now_us() - now.uploads.last_us > LATE_US:
            found.append(Attention(f"{device.name} has a trace that is not sealed", at_us=now.uploads.last_us))
    if age_us < STALE_US:
        if said.get("state") == "fault":
            found.append(Attention(f"{device.name} reports a fault", at_us=device.heartbeat_us))
        if said.get("free_gib", LEAST_GIB) < LEAST_GIB:
            found.append(Attention(f"{device.name} has {said['free_gib']} GiB left", at_us=device.heartbeat_us))
        if now.clock and now.clock.uncertainty_us > MOST_CLOCK_US:
            known = f"{now.clock.uncertainty_us / 1000:.0f} ms"
            found.append(
                Attention(f"the clock of {device.name} is known only within {known}", at_us=now.clock.server_us)
            )
        if device.kind == DeviceKind.METER and now.clock is None:
            found.append(Attention(f"the clock of {device.name} was never compared with the server's"))
    return found


def _of_runs(session: Session, study: Study) -> list[Attention]:
    """The runs that wait too long for their next event."""
    now = now_us()
    mine = select(Run).where(Run.study_id == study.id)
    late = now - LATE_US - cast(Run.seconds, BigInteger) * (2 * SECOND_US)
    started = mine.where(Run.state == State.STARTED, Run.started_us < late).order_by(Run.code)
    rated = mine.where(Run.state == State.RATED, Run.record_us.is_(None), Run.rated_us < now - LATE_US)
    guess = mine.where(Run.state == State.RATED, Run.record_us.is_not(None), Run.rated_us < now - LATE_US)
    found = []
    for query, words, column in (
        (started, "was started, but is not rated", "started_us"),
        (rated.order_by(Run.code), "is rated, but its record has not arrived", "rated_us"),
        (guess.order_by(Run.code), "is rated, but the participant has not guessed its condition", "rated_us"),
    ):
        rows = session.scalars(query.limit(MOST_NAMED)).all()
        found += [Attention(words, row.code, getattr(row, column)) for row in rows]
    return found


def upcoming(session: Session, study: Study) -> list[Next]:
    """At most eight: those at laptops, then those who can begin or go on, then others; longest wait first."""
    order = (ParticipantState.ENROLLED, *WORDS)
    rank = case({state: number for number, state in enumerate(order)}, value=Participant.state)
    since = func.coalesce(Participant.enrolled_us, Participant.consent_us, Participant.created_us)
    here = select(Sitting.participant_id, Device.name).join(Device, Device.id == Sitting.device_id)
    seated = here.where(Device.study_id == study.id, Sitting.ended_us.is_(None)).subquery()
    columns = select(Participant.id, Participant.code, Participant.state, seated.c.name)
    mine = columns.outerjoin(seated, seated.c.participant_id == Participant.id)
    mine = mine.where(Participant.study_id == study.id, Participant.state.in_(order))
    ordered = mine.order_by(seated.c.name.is_(None), rank, since, Participant.code).limit(MOST_NAMED)
    rows = session.execute(ordered).all()
    runs = _complete_runs(session, [row.id for row in rows])
    return [Next(row.code, _words(row.state, row.name, runs.get(row.id, (0, 0)))) for row in rows]


def _words(state: str, laptop: str | None, runs: tuple[int, int]) -> str:
    complete, every = runs
    far = f"{complete} of {every} runs complete"
    if laptop is not None:
        return f"sits at {laptop}, {far}"
    if state in WORDS:
        return WORDS[ParticipantState(state)]
    return f"can go on, {far}" if complete else "can begin the first run"


def _complete_runs(session: Session, participants: list[int]) -> dict[int, tuple[int, int]]:
    """(complete runs, all runs without replaced ones) of these participants, by their ids."""
    complete = func.sum(case((Run.state == State.COMPLETE, 1), else_=0))
    every = func.sum(case((Run.state == State.REPLACED, 0), else_=1))
    counts = select(Run.participant_id, complete, every).where(Run.participant_id.in_(participants))
    return {who: (done, of) for who, done, of in session.execute(counts.group_by(Run.participant_id))}


def status(session: Session, study: Study) -> dict[str, Any]:
    """The progress of a study: slots, participants and runs by state, and the devices' last heartbeats.

    Runs of participants who withdrew or were replaced do not count. No number is by condition.
    """
    about = {"study": study.name, "state": study.state}
    return about | _counts(session, study) | {"devices": _heartbeats(session, study)}


def _counts(session: Session, study: Study) -> dict[str, Any]:
    """The numbers of slots, participants and runs."""
    runs = dict.fromkeys(map(str, State), 0) | _runs_by_state(session, study)
    participants = dict.fromkeys(map(str, ParticipantState), 0) | _participants(session, study)
    return {"slots": _slots(session, study), "participants": participants, "runs": runs}


def _slots(session: Session, study: Study) -> list[dict[str, Any]]:
    counts = select(Slot.stratum, func.count(), func.count(Slot.participant_id)).where(Slot.study_id == study.id)
    rows = session.execute(counts.group_by(Slot.stratum).order_by(Slot.stratum))
    return [{"stratum": stratum, "slots": slots, "taken": taken} for stratum, slots, taken in rows]


def _participants(session: Session, study: Study) -> dict[str, int]:
    counts = select(Participant.state, func.count()).where(Participant.study_id == study.id)
    return {state: count for state, count in session.execute(counts.group_by(Participant.state))}  # noqa: C416 - rows


def _runs_by_state(session: Session, study: Study) -> dict[str, int]:
    """The study's runs by state. It subtracts those of participants who left, because these are few."""
    every = select(Run.state, func.count().label("runs")).where(Run.study_id == study.id).group_by(Run.state)
    gone = select(Run.state, -func.count()).join(Participant, Run.participant_id == Participant.id)
    gone = gone.where(Participant.study_id == study.id, Participant.state.in_(GONE)).group_by(Run.state)
    both = union_all(every, gone).subquery()
    rows = session.execute(select(both.c.state, func.sum(both.c.runs)).group_by(both.c.state))
    return {state: int(count) for state, count in rows}


def _heartbeats(session: Session, study: Study) -> list[dict[str, Any]]:
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
