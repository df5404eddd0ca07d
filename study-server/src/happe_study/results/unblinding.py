# SPDX-License-Identifier: GPL-2.0-or-later
"""Unblinding: of a whole study, once and for everybody; of one run in an emergency, for the custodian alone.

In an emergency, only the answer to the custodian contains the run's condition; the server does not store it.
`runs.condition` stays NULL until the study is unblinded. The audit log says who asked, when and why, but not the
condition. If it were stored, everybody who may list runs would see it, and one condition narrows down those of the
participant's other runs and of others in the same block. Each request makes an entry in the audit log.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from happe_study.base.clock import now_us
from happe_study.base.config import Secrets
from happe_study.base.database import FOR_CHANGE
from happe_study.base.problems import FieldError, conflict, unprocessable
from happe_study.model.audit.chain import append
from happe_study.model.audit.models import AuditDetail, AuditEntry
from happe_study.model.participants import Participant
from happe_study.model.rules import Caller
from happe_study.model.runs import Run
from happe_study.model.studies import UNBLINDING, Slot, Study, StudyState
from happe_study.results.gate import excluded, unfinished
from happe_study.study.allocation import SlotPlan, plan, verify
from happe_study.study.measuring.job import begin_by_itself
from happe_study.study.people.holding import hold
from happe_study.study.profiles.services import take_out
from happe_study.study.protocol.reading import Nesting
from happe_study.study.runs.services import locked
from happe_study.study.sealing import SealError, open_condition, open_slot
from happe_study.study.studies.services import protocol_of, seed_of, wrong_key
from happe_study.study.traces.sealed import open_manifests

SHORTEST_REASON = 10
LONGEST_REASON = 1000
PARTICIPANTS_AT_ONCE = 50
MOST_LISTED = 100
OVERRIDE = "The study is not finished. Finish it, or say why it is unblinded all the same."

Place = tuple[str, int]  # stratum and position of a slot


@dataclass(frozen=True)
class Order:
    """A request to unblind: by whom (None: the command line), the reason, and the name or code typed to confirm.

    `override`: why a study is unblinded although something is unfinished.
    """

    who: Caller | None
    reason: str
    confirmation: str
    override: str = ""


@dataclass
class Check:
    """The comparison of sealed data with the allocation computed from the revealed seed.

    `commitment`: whether seed and salt match the commitment. `slots`: the number of slots whose sealed plan differs
    from the computed one. `runs`: codes of runs that differ from the plan of their participant's slot (from every plan,
    if the participant has no slot). `unreadable`: runs whose condition's seal does not open. `records`: runs with an
    unreadable record. `traces`: power traces whose manifest does not open. `unfinished`: what the study lacked.
    """

    commitment: bool
    unfinished: list[str] = field(default_factory=list)
    slots: int = 0
    runs: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)

    @property
    def agrees(self) -> bool:
        """Whether the comparison found no difference."""
        return self.commitment and not (self.slots or self.runs or self.unreadable or self.records or self.traces)

    def summary(self) -> dict[str, Any]:
        """The comparison for answers and the audit log: counts, and at most the first hundred codes."""
        return {
            "agrees": self.agrees,
            "commitment_agrees": self.commitment,
            "other_slots": self.slots,
            "other_runs": sorted(self.runs)[:MOST_LISTED],
            "unreadable_runs": sorted(self.unreadable)[:MOST_LISTED],
            "unreadable_records": sorted(self.records)[:MOST_LISTED],
            "unreadable_traces": sorted(self.traces)[:MOST_LISTED],
            "unfinished": self.unfinished,
        }


@dataclass(frozen=True)
class _Plans:
    """The computed plans by place, and the place of each participant who has a slot."""

    by_place: dict[Place, SlotPlan]
    held: dict[int, Place]

    def agree(self, participant_id: int, runs: Sequence[tuple[int, str, str]]) -> bool:
        """Whether a participant's runs (position, application, label) are as planned."""
        place = self.held.get(participant_id)
        if place is not None:
            return _as_planned(self.by_place.get(place, ()), runs)
        return any(_as_planned(slot, runs) for slot in self.by_place.values())


def unblind(session: Session, study: Study, secrets: Secrets, order: Order) -> Check:
    """Write every run's condition, and reveal seed and salt. It can't be undone.

    If the study has power traces, this starts a job that measures the runs.

    Whatever the check finds, each run gets the condition that was sealed for it, and the audit log gets the check's
    result. Raises Problem 422: the confirmation is not the study's name, or a bad reason; 409: the study is not locked,
    is unblinded already, was locked with another allocation key, or is unfinished (`unfinished`) and nothing overrides
    that.
    """
    _require(order, study.name)
    session.refresh(study, with_for_update=FOR_CHANGE)
    if study.state != StudyState.LOCKED:
        raise conflict("not-locked", f"Only a locked study can be unblinded, and this one is {study.state}.")
    hold(session, Participant.study_id == study.id)
    lacks = unfinished(session, study)
    if lacks and not order.override:
        raise conflict("unfinished", OVERRIDE, *(FieldError("/override", each) for each in lacks))
    study.seed, study.salt = seed_of(study, secrets)
    check = Check(verify(study.commitment or "", study.seed, study.salt), lacks)
    plans = _check_slots(session, study, secrets, check)
    for participants in _batches(session, study):
        _write(session, participants, secrets, plans, check)
    study.state, study.unblinded_us = StudyState.UNBLINDED, now_us()
    check.records = take_out(session, study.id, secrets).unreadable
    check.traces = open_manifests(session, study.id, secrets.allocation)
    begin_by_itself(session, study, order.who)
    about: dict[str, Any] = {"study": study.name, "reason": order.reason, **check.summary()}
    about |= {"override": order.override if lacks else "", "excluded": excluded(session, study)}
    append(session, UNBLINDING, order.who, study_id=study.id, **about)
    return check


def unblind_run(session: Session, study: Study, run: Run, secrets: Secrets, order: Order) -> str:
    """Open one run's condition in an emergency, and return its label. The module's docstring says why nobody stores it.

    The audit log names the other runs whose conditions follow from this one. Nobody can exclude any of them blind now.

    Raises Problem 422: the confirmation is not the run's code, or a bad reason; 404: a withdrawal has just given the
    run another code; 409: the study is not locked, or the seal does not open.
    """
    _require(order, run.code)
    locked(session, run)
    if study.state != StudyState.LOCKED:
        raise conflict("not-locked", f"Only runs of a locked study are blinded, and this one is {study.state}.")
    try:
        label = open_condition(secrets.allocation, run.code, run.condition_sealed).label
    except SealError:
        raise wrong_key() from None
    about = {"study_id": study.id, "participant_id": run.participant_id}
    reveals = revealed_by(session, study, run)
    known = update(Run).where(Run.participant_id == run.participant_id, Run.code.in_([run.code, *reveals]))
    session.execute(known.where(Run.revealed_us.is_(None)).values(revealed_us=now_us()))
    append(session, "run.unblinded", order.who, **about, run=run.code, reason=order.reason, reveals=reveals)
    return label


def revealed_by(session: Session, study: Study, run: Run) -> list[str]:
    """The codes of the participant's other runs whose conditions follow from the condition of `run`.

    The design gives the possible orders of conditions. Another run is revealed if each possible condition of `run`
    leaves exactly one for the other run, and the design alone leaves more than one.
    """
    protocol = protocol_of(study)
    query = select(Run.code, Run.position, Run.application).where(Run.participant_id == run.participant_id)
    mine = session.execute(query.order_by(Run.position, Run.attempt)).all()
    positions: dict[str, list[int]] = {}
    for _code, position, application in mine:
        known = positions.setdefault(application, [])
        if position not in known:
            known.append(position)
    labels = [[condition.label for condition in sequence] for sequence in protocol.sequences]
    here = positions[run.application].index(run.position)
    found = []
    for code, position, application in mine:
        there = positions[application].index(position)
        together = application == run.application or protocol.order.nesting is Nesting.BLOCK
        pairs = {(sequence[here], sequence[there]) for sequence in labels}
        follows = len(pairs) == len({one for one, _other in pairs})
        if code != run.code and together and follows and len({sequence[there] for sequence in labels}) > 1:
            found.append(code)
    return sorted(found)


def deviation(session: Session, study: Study) -> dict[str, Any] | None:
    """What the audit log says of an unblinding with an override: `override` and `unfinished`; None for any other."""
    said = select(AuditDetail.detail).join(AuditEntry, AuditEntry.number == AuditDetail.number)
    detail = session.scalar(said.where(AuditEntry.action == UNBLINDING, AuditDetail.study_id == study.id))
    return detail if detail and detail["override"] else None


def require_reason(reason: str) -> None:
    """Raise Problem 422 for a reason that is too short or too long."""
    if wrong := _wrong_reason(reason):
        raise unprocessable("Nothing was unblinded.", *wrong)


def _wrong_reason(reason: str, name: str = "reason") -> list[FieldError]:
    if SHORTEST_REASON <= len(reason.strip()) <= LONGEST_REASON:
        return []
    return [FieldError(f"/{name}", f"must have {SHORTEST_REASON} to {LONGEST_REASON} characters")]


def _require(order: Order, name: str) -> None:
    wrong = _wrong_reason(order.reason)
    if order.override:
        wrong += _wrong_reason(order.override, "override")
    if order.confirmation != name:
        wrong.append(FieldError("/confirmation", "must repeat the name of the study or the code of the run"))
    if wrong:
        raise unprocessable("Nothing was unblinded.", *wrong)


def _check_slots(session: Session, study: Study, secrets: Secrets, check: Check) -> _Plans:
    """Compare each slot's sealed plan with the computed one."""
    computed = plan(protocol_of(study), study.seed or b"", study.salt or b"")
    by_place = {
        (stratum, position): slot for stratum, slots in computed.items() for position, slot in enumerate(slots, start=1)
    }
    held, seen = {}, set()
    for slot in session.scalars(select(Slot).where(Slot.study_id == study.id)):
        place = (slot.stratum, slot.position)
        seen.add(place)
        check.slots += _opened_slot(study, slot, secrets) != by_place.get(place)
        if slot.participant_id is not None:
            held[slot.participant_id] = place
    check.slots += len(by_place.keys() - seen)
    return _Plans(by_place, held)


def _opened_slot(study: Study, slot: Slot, secrets: Secrets) -> SlotPlan:
    """A slot's plan; an empty one if its seal does not open."""
    try:
        return open_slot(secrets.allocation, (study.name, slot.stratum, slot.position), slot.plan_sealed)
    except SealError:
        return ()


def _batches(session: Session, study: Study) -> Iterator[list[int]]:
    mine = select(Participant.id).where(Participant.study_id == study.id)
    every = session.scalars(mine.order_by(Participant.id)).all()
    for start in range(0, len(every), PARTICIPANTS_AT_ONCE):
        yield list(every[start : start + PARTICIPANTS_AT_ONCE])


def _write(session: Session, participants: list[int], secrets: Secrets, plans: _Plans, check: Check) -> None:
    """Write the conditions of these participants' runs, and compare them with the plan."""
    columns = (Run.id, Run.participant_id, Run.code, Run.position, Run.application, Run.condition_sealed)
    those = select(*columns).where(Run.participant_id.in_(participants))
    rows = session.execute(those.order_by(Run.participant_id, Run.id)).all()  # as an upload of records locks them
    labels: dict[int, str] = {}
    for row in rows:
        try:
            labels[row.id] = open_condition(secrets.allocation, row.code, row.condition_sealed).label
        except SealError:
            check.unreadable.append(row.code)
    if labels:
        session.execute(update(Run), [{"id": number, "condition": label} for number, label in labels.items()])
    for participant in participants:
        mine = [row for row in rows if row.participant_id == participant and row.id in labels]
        if not plans.agree(participant, [(row.position, row.application, labels[row.id]) for row in mine]):
            check.runs.extend(row.code for row in mine)


def _as_planned(slot: SlotPlan, runs: Sequence[tuple[int, str, str]]) -> bool:
    planned = {(run.position, run.application, run.condition.label) for run in slot}
    return planned.issuperset(runs)
