# SPDX-License-Identifier: GPL-2.0-or-later
"""What is unfinished in a locked study: the last look before an unblinding, which can't be undone.

Everybody who reads the study may read it, a custodian too. So it has counts, none by condition, and no codes.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from sqlalchemy import Select, exists, func, select
from sqlalchemy.orm import Session

from happe_study.model.devices import Device
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import JobState
from happe_study.model.participants import GONE, Participant, ParticipantState
from happe_study.model.rules import DeviceKind
from happe_study.model.runs import Run
from happe_study.model.studies import Study, StudyState
from happe_study.model.traces import Trace
from happe_study.results.overview import status
from happe_study.results.withdrawal.recordings import span
from happe_study.study.checks.evidence import Verdict, counted
from happe_study.study.checks.services import CHECKS
from happe_study.study.runs.machine import State

SLACK_US = 2_000_000  # `span` knows the ends of a trace to a second


def unfinished(session: Session, study: Study) -> list[str]:
    """A sentence for each kind of thing that is unfinished; none if the study is not locked."""
    if study.state != StudyState.LOCKED:
        return []
    return [*_people_and_runs(session, study), *_power(session, study), *_checks(session, study)]


def _people_and_runs(session: Session, study: Study) -> Iterator[str]:
    now = status(session, study)
    places, taken = (sum(each[name] for each in now["slots"]) for name in ("slots", "taken"))
    if taken < places:
        yield f"{places - taken} of {counted(places, 'place')} {_are(places - taken)} free."
    waiting = {state: now["participants"][state] for state in (ParticipantState.CONSENTED, ParticipantState.ENROLLED)}
    if any(waiting.values()):
        people = sum(waiting.values())
        yield f"{counted(people, 'participant')} {_are(people)} not done: {_listed(waiting)}."
    left = {state: now["runs"][state] for state in (State.PLANNED, State.STARTED, State.RATED, State.ABORTED)}
    if any(left.values()):
        runs, every = sum(left.values()), sum(left.values()) + now["runs"][State.COMPLETE]
        yield f"{runs} of {counted(every, 'run')} {_are(runs)} not complete: {_listed(left)}."
    late = _of_those_here(study, State.RATED).where(Run.record_us.is_(None))
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
    for laptop, begin, end in session.execute(_of_those_here(study, State.COMPLETE).with_only_columns(*columns)):
        begin_us, end_us = (begin or 0) + SLACK_US, (end or 0) - SLACK_US
        without += not any(first <= begin_us and end_us <= last for first, last in recorded[laptop])
    if without:
        yield f"{counted(without, 'complete run')} {'has' if without == 1 else 'have'} no power trace."
    if unsealed := sum(trace.sealed_us is None for trace in traces):
        yield f"{counted(unsealed, 'power trace')} {_are(unsealed)} not sealed: a meter may still hold parts."


def _checks(session: Session, study: Study) -> Iterator[str]:
    """The faults of the last checks, or that a run was completed after them."""
    last_us = session.scalar(_of_those_here(study, State.COMPLETE).with_only_columns(func.max(Run.completed_us)))
    every = jobs.of_study(session, study.id, CHECKS, results=False)
    made = next((job for job in every if job.state == JobState.DONE), None)
    if last_us and (made is None or made.requested_us < last_us):
        yield "Nobody has checked the data since the last run was completed."
    for check in (made.result or {})["checks"] if made else ():
        if check["verdict"] == Verdict.SUSPECT:
            faults = counted(len(check["findings"]) + check["more"], "fault")
            yield f"The check of {check['title'].lower()} found {faults}."


def _of_those_here(study: Study, state: State) -> Select[Run]:
    """The runs in a state, of participants who have neither withdrawn nor been replaced."""
    runs = select(Run).join(Participant, Participant.id == Run.participant_id)
    return runs.where(Run.study_id == study.id, Run.state == state, Participant.state.not_in(GONE))


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _listed(counts: Mapping[State, int] | Mapping[ParticipantState, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count)
