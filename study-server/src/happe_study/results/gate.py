# SPDX-License-Identifier: GPL-2.0-or-later
"""What is unfinished in a locked study, and what is excluded: the last look before an unblinding.

Everybody who reads the study may read it, a custodian too. So it has counts, none by condition, and no codes.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Select, exists, func, select
from sqlalchemy.orm import Session

from happe_study.model.devices import Device
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import JobState
from happe_study.model.participants import GONE, Participant, ParticipantState
from happe_study.model.rules import DeviceKind
from happe_study.model.runs import Exclusion, Run, is_excluded
from happe_study.model.studies import Slot, Study, StudyState
from happe_study.model.traces import Trace
from happe_study.results.withdrawal.recordings import span
from happe_study.study.checks.evidence import Verdict, counted
from happe_study.study.checks.services import CHECKS
from happe_study.study.runs.machine import State

UNFINISHED = (State.PLANNED, State.STARTED, State.RATED, State.ABORTED)
SLACK_US = 2_000_000  # `span` knows the ends of a trace to a second


def unfinished(session: Session, study: Study) -> list[str]:
    """A sentence for each kind of thing that is unfinished; none if the study is not locked."""
    if study.state != StudyState.LOCKED:
        return []
    return [*_people_and_runs(session, study), *_power(session, study), *_checks(session, study)]


def excluded(session: Session, study: Study) -> list[str]:
    """A sentence for the excluded participants and one for the excluded runs, with the numbers of each reason."""
    columns = (Exclusion.run_id.is_(None).label("person"), Exclusion.reason, Exclusion.blind, func.count())
    counts = select(*columns).where(Exclusion.study_id == study.id).group_by(*columns[:-1])
    rows = session.execute(counts.order_by(Exclusion.reason, Exclusion.blind)).all()
    found = []
    for what, people in (("participant", True), ("run", False)):
        mine = {(reason, blind): count for person, reason, blind, count in rows if bool(person) == people}
        if mine:
            total = sum(mine.values())
            said = ", ".join(
                f"{count} {reason}{'' if blind else ' (sensitivity analysis)'}"
                for (reason, blind), count in mine.items()
            )
            found.append(f"{counted(total, what)} {_are(total)} excluded: {said}.")
    return found


def _people_and_runs(session: Session, study: Study) -> Iterator[str]:
    slots = select(func.count(), func.count(Slot.participant_id)).where(Slot.study_id == study.id)
    places, taken = session.execute(slots).one()
    if taken < places:
        yield f"{places - taken} of {counted(places, 'place')} {_are(places - taken)} free."
    waiting = (ParticipantState.CONSENTED, ParticipantState.ENROLLED)
    people = select(Participant.state, func.count()).where(Participant.study_id == study.id)
    out = exists().where(Exclusion.participant_id == Participant.id, Exclusion.run_id.is_(None), Exclusion.blind)
    now = _counts(session, people.where(Participant.state.in_(waiting), ~out).group_by(Participant.state))
    if here := sum(now.values()):
        yield f"{counted(here, 'participant')} {_are(here)} not done: {_listed(now, waiting)}."
    states = _runs(study).with_only_columns(Run.state, func.count()).group_by(Run.state)
    runs = _counts(session, states.where(Run.state != State.REPLACED))
    left = sum(runs.values()) - runs.get(State.COMPLETE, 0)
    if left:
        every = counted(sum(runs.values()), "run")
        yield f"{left} of {every} {_are(left)} not complete: {_listed(runs, UNFINISHED)}."
    late = _runs(study, State.RATED).where(Run.record_us.is_(None))
    if missing := session.scalar(late.with_only_columns(func.count())):
        yield f"{counted(missing, 'rated run')} {'lacks its' if missing == 1 else 'lack their'} record."


def _power(session: Session, study: Study) -> Iterator[str]:
    """Complete runs that no trace covers, and traces of which the server may lack a part. Needs an enrolled meter."""
    meter = exists().where(
        Device.study_id == study.id, Device.kind == DeviceKind.METER, Device.enrolled_us.is_not(None)
    )
    if not session.scalar(select(meter)):
        return
    recorded = defaultdict(list)
    traces = session.scalars(select(Trace).where(Trace.study_id == study.id)).all()
    for trace in traces:
        recorded[trace.laptop_id].append(span(session, trace))
    without = 0
    columns = (Run.device_id, Run.started_us, Run.ended_us)
    for laptop, begin, end in session.execute(_runs(study, State.COMPLETE).with_only_columns(*columns)):
        begin_us, end_us = (begin or 0) + SLACK_US, (end or 0) - SLACK_US
        without += not any(first <= begin_us and end_us <= last for first, last in recorded[laptop])
    if without:
        yield f"{counted(without, 'complete run')} {'has' if without == 1 else 'have'} no power trace."
    if unsealed := sum(trace.sealed_us is None for trace in traces):
        yield f"{counted(unsealed, 'power trace')} {_are(unsealed)} not sealed: a meter may still hold parts."


def _checks(session: Session, study: Study) -> Iterator[str]:
    """The faults of the last checks, or that a run was completed after them."""
    last_us = session.scalar(_runs(study, State.COMPLETE).with_only_columns(func.max(Run.completed_us)))
    every = jobs.of_study(session, study.id, CHECKS, results=False)
    made = next((job for job in every if job.state == JobState.DONE), None)
    if last_us and (made is None or made.requested_us < last_us):
        yield "Nobody has checked the data since the last run was completed."
    for check in (made.result or {})["checks"] if made else ():
        if check["verdict"] == Verdict.SUSPECT:
            faults = counted(len(check["findings"]) + check["more"], "fault")
            yield f"The check of {check['title'].lower()} found {faults}."


def _runs(study: Study, *states: State) -> Select[Run]:
    """The runs that are not excluded, of participants who have neither withdrawn nor been replaced."""
    runs = select(Run).join(Participant, Participant.id == Run.participant_id)
    runs = runs.where(Run.study_id == study.id, Participant.state.not_in(GONE), ~is_excluded())
    return runs.where(Run.state.in_(states)) if states else runs


def _counts(session: Session, query: Select[str, int]) -> dict[str, int]:
    return {state: count for state, count in session.execute(query)}  # noqa: C416 - rows


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _listed(counts: Mapping[str, int], states: Sequence[str]) -> str:
    return ", ".join(f"{counts[state]} {state}" for state in states if counts.get(state))
