# SPDX-License-Identifier: GPL-2.0-or-later
"""Reading the input of the checks from the database and the store of traces."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session, aliased

from happe_contract.server_time import ServerClock
from happe_contract.strict_json import Json
from happe_contract.time_base import TimeBase, time_base
from happe_contract.traces import ClockEstimate as Estimate
from happe_study.model.devices import ClockEstimate, Device
from happe_study.model.participants import GONE, Participant
from happe_study.model.profiles import Profile
from happe_study.model.runs import Run, RunRecord
from happe_study.model.studies import Study, StudyState
from happe_study.model.traces import Trace, TracePart
from happe_study.study.checks.behaviour import Behaviour, behaviour
from happe_study.study.checks.evidence import Evidence, Gap, RunFacts, TraceFacts, at_server, known_clock
from happe_study.study.documents import Measure, PowerModel
from happe_study.study.profiles.history import histories
from happe_study.study.records.stored import opened
from happe_study.study.sealing import SealError
from happe_study.study.traces.manifest import gaps_of, pairs_of
from happe_study.study.traces.sealed import listed_digests, manifest_of
from happe_study.study.traces.storage import Part, Storage

ROWS_AT_ONCE = 200

Clocks = dict[tuple[str, str], list[Estimate]]


@dataclass(frozen=True)
class Sources:
    """The sources of facts besides the database. `deep`: read every byte of the traces."""

    key: bytes  # the server's allocation key, which opens records and manifests
    storage: Storage
    model: PowerModel | None = None
    measures: Mapping[str, Measure] | None = None
    deep: bool = False


def gather(session: Session, study: Study, sources: Sources, *, conditions: bool) -> Evidence:
    """Read the facts of a study. Without `conditions` it leaves out all that reveals one, even after unblinding."""
    unblinded = conditions and study.state == StudyState.UNBLINDED
    clocks = _clocks(session, study.id)
    records, unread = _records(session, study.id, sources) if unblinded else ({}, [])
    return Evidence(
        unblinded=unblinded,
        runs=list(_runs(session, study.id, records, unblinded=unblinded)),
        traces=list(_traces(session, study.id, sources, clocks, gaps=unblinded)),
        clocks=clocks,
        measures=sources.measures if unblinded else None,
        unread=unread,
        doubts=_doubts(session, study.id) if unblinded else (),
        deep=sources.deep,
        names=_names(session, study.id),
    )


def _names(session: Session, study_id: int) -> dict[str, str]:
    """The names of devices by their codes."""
    devices = session.scalars(select(Device).where(Device.study_id == study_id))
    return {device.code: device.name for device in devices}


def _runs(session: Session, study_id: int, records: Mapping[str, Behaviour], *, unblinded: bool) -> Iterator[RunFacts]:
    """The runs of participants who have neither withdrawn nor been replaced."""
    laptop = aliased(Device)
    columns = (Run.code, Run.position, Run.application, Run.state, Run.started_us, Run.ended_us, Run.condition)
    query = (
        select(*columns, Participant.code.label("participant"), laptop.code.label("laptop"))
        .join(Participant, Run.participant_id == Participant.id)
        .outerjoin(laptop, laptop.id == Run.device_id)
        .where(Participant.study_id == study_id, Participant.state.not_in(GONE))
        .order_by(Run.code)
    )
    for run in session.execute(query.execution_options(yield_per=ROWS_AT_ONCE)):
        yield RunFacts(
            code=run.code,
            participant=run.participant,
            position=run.position,
            application=run.application,
            state=run.state,
            laptop=run.laptop,
            started_us=run.started_us,
            ended_us=run.ended_us,
            condition=run.condition if unblinded else None,
            behaviour=records.get(run.code),
        )


def _records(session: Session, study_id: int, sources: Sources) -> tuple[dict[str, Behaviour], list[str]]:
    """The records of complete runs by run; the runs whose records do not open."""
    query = (
        select(Run.code, RunRecord.document)
        .join(Participant, Run.participant_id == Participant.id)
        .join(RunRecord, RunRecord.run_id == Run.id)
        .where(Participant.study_id == study_id, Participant.state.not_in(GONE), Run.completed_us.is_not(None))
        .order_by(Run.code)
    )
    found: dict[str, Behaviour] = {}
    unread = []
    for code, document in session.execute(query.execution_options(yield_per=ROWS_AT_ONCE)):
        model = sources.model if code in (sources.measures or {}) else None  # the model is compared with measured watts
        try:
            found[code] = behaviour(json.loads(opened(sources.key, code, document)), model)
        except SealError:
            unread.append(code)
    return found, unread


def _doubts(session: Session, study_id: int) -> list[tuple[str, str]]:
    """(run, difference) for each profile that does not follow from its lessons."""
    of = select(Profile.participant_id).join(Participant, Participant.id == Profile.participant_id)
    mine = Profile.study_id == study_id, Participant.state.not_in(GONE), ~Profile.agrees
    wrong = session.scalars(of.where(*mine).distinct().order_by(Profile.participant_id)).all()
    return [
        (doubt.run, doubt.says)
        for start in range(0, len(wrong), ROWS_AT_ONCE)
        for history in histories(session, wrong[start : start + ROWS_AT_ONCE]).values()
        for doubt in history.doubts
    ]


def _clocks(session: Session, study_id: int) -> Clocks:
    query = select(Device.code, ClockEstimate).join(Device, Device.id == ClockEstimate.device_id)
    order = (Device.code, ClockEstimate.clock, ClockEstimate.device_us, ClockEstimate.client_id)
    found: Clocks = defaultdict(list)
    for code, each in session.execute(query.where(Device.study_id == study_id).order_by(*order)):
        found[code, each.clock].append(Estimate(each.device_us, each.offset_us, each.uncertainty_us))
    return dict(found)


def _traces(session: Session, study_id: int, sources: Sources, clocks: Clocks, *, gaps: bool) -> Iterator[TraceFacts]:
    meter, laptop = aliased(Device), aliased(Device)
    query = (
        select(Trace, meter.code, laptop.code)
        .join(meter, Trace.device_id == meter.id)
        .outerjoin(laptop, Trace.laptop_id == laptop.id)
        .where(Trace.study_id == study_id)
        .order_by(Trace.client_id)
    )
    for trace, meter_code, laptop_code in session.execute(query).all():
        name = trace.header["clock"]
        clock = known_clock(name, clocks.get((meter_code, name), ()))
        manifest = _manifest(trace, sources.key)
        missing, damaged = _compared(trace, manifest, _parts(session, trace), sources)
        yield TraceFacts(
            trace=trace.client_id,
            meter=meter_code,
            laptop=laptop_code,
            clock=name,
            sealed=trace.sealed_us is not None,
            span=_span(session, trace, manifest, clock),
            missing=missing,
            damaged=damaged,
            gaps=tuple(_gaps(trace.header, manifest, clock)) if gaps and manifest else (),
        )


def _parts(session: Session, trace: Trace) -> dict[int, Any]:
    """A trace's parts by number: `sha256` is of the sealed file, `digest` the keyed one of what the meter sent."""
    columns = select(TracePart.number, TracePart.bytes, TracePart.sha256, TracePart.digest)
    return {part.number: part for part in session.execute(columns.where(TracePart.trace_id == trace.id))}


def _manifest(trace: Trace, key: bytes) -> Json | None:
    """A trace's manifest; None if it is missing or does not open (`happe-server check` reports that)."""
    try:
        return manifest_of(trace, key)
    except SealError:
        return None


def _compared(
    trace: Trace, manifest: Json | None, here: Mapping[int, Any], sources: Sources
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of missing parts, and of damaged parts, which differ from what the meter sent."""
    wanted = {} if manifest is None else listed_digests(sources.key, manifest)
    there = {each.key: each.bytes for each in sources.storage.stored(UUID(trace.client_id))}
    missing, damaged = [], []
    for number in sorted(wanted or range(max(here, default=-1) + 1)):
        kept = here.get(number)
        part = Part(UUID(trace.client_id), number, kept.sha256 if kept else "")
        size = there.get(sources.storage.key(part))
        if kept is None or size is None:
            missing.append(number)
        elif wanted.get(number, kept.digest) != kept.digest or size != kept.bytes or not _is(part, sources):
            damaged.append(number)
    return tuple(missing), tuple(damaged)


def _is(part: Part, sources: Sources) -> bool:
    return not sources.deep or hashlib.sha256(sources.storage.read(part)).hexdigest() == part.sha256


def _span(session: Session, trace: Trace, manifest: Json | None, clock: ServerClock | None) -> tuple[int, int] | None:
    """A trace's begin and end by the server's time. An unsealed trace ends with its last part's arrival."""
    begin = at_server(clock, trace.header["started"]["monotonic_us"])
    if begin is None:
        return None
    if manifest is not None:
        end = at_server(clock, _time_base(trace.header, manifest).monotonic_us(manifest["end_index"]))
        return (begin[0], end[0]) if end else None
    last = session.scalar(
        select(TracePart.received_us).where(TracePart.trace_id == trace.id).order_by(TracePart.received_us.desc())
    )
    return begin[0], max(begin[0], last or trace.created_us)


def _gaps(header: Json, manifest: Json, clock: ServerClock | None) -> Iterator[Gap]:
    """A sealed trace's gaps in the server's time."""
    base = _time_base(header, manifest)
    for gap in manifest["gaps"]:
        begin, end = (at_server(clock, base.monotonic_us(gap[name])) for name in ("from_index", "to_index"))
        if begin and end:
            yield Gap(begin[0], end[0], gap["reason"])


def _time_base(header: Json, manifest: Json) -> TimeBase:
    """The conversion from a sealed trace's indices to its meter's clock."""
    return time_base(pairs_of(header, manifest), gaps_of(manifest), header["rate_hz"])
