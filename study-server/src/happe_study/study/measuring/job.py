# SPDX-License-Identifier: GPL-2.0-or-later
"""The job that measures every complete run of an unblinded study: its work, starting and cancelling it."""

import json
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from happe_contract.measuring.refusal import Limits, Refusal, Why
from happe_contract.measuring.runs import FORMAT, Measured, StudyRun, measured
from happe_contract.measuring.session import TraceError
from happe_contract.schemas import Kind as Document
from happe_contract.schemas import check
from happe_contract.server_time import ServerClock
from happe_study.base.database import FOR_CHANGE
from happe_study.base.problems import conflict
from happe_study.model.audit.chain import append
from happe_study.model.jobs import services as jobs
from happe_study.model.jobs.models import Job
from happe_study.model.jobs.work import FailedError, Kind, Work
from happe_study.model.rights import Right
from happe_study.model.rules import Caller
from happe_study.model.studies import Study, StudyState
from happe_study.model.traces import Trace, TracePart
from happe_study.study import documents
from happe_study.study.measuring.asking import asked
from happe_study.study.measuring.stored import StoredTrace
from happe_study.study.sealing import SealError
from happe_study.study.traces.sealed import manifest_of, seal_of
from happe_study.study.traces.stores import storage_of

MEASURING = "measuring"
LIMITS = Limits()


def measure(work: Work) -> None:
    """Measure the study as it is now, and replace its document of measured power."""
    made = sorted(_documents(work), key=itemgetter("run"))
    document = {"format": FORMAT, "measures": made}
    check(Document.POWER_MEASURES, document)
    raw = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    if len(raw) > documents.MOST_MEASURES:
        raise FailedError(f"The measures have {len(raw)} bytes, at most {documents.MOST_MEASURES} can be kept.")
    refused = sum("refused" in each for each in made)
    with work.taking_effect({"measured": len(made) - refused, "refused": refused}) as session:
        documents.keep_measured(session, session.get_one(Study, work.study_id), raw, work.asked_by)


KIND = Kind(MEASURING, "Measured power", Right.EXPORT, measure, "report_pages.report")


def _documents(work: Work) -> Iterator[dict[str, Any]]:
    work.doing("reading records and clocks")
    with work.database.reading() as session:
        wanted = asked(session, work.study_id, work.server.secrets.allocation)
    for run, refusal in wanted.without:
        yield Measured(run, refusal).document()
    done = len(wanted.without)
    for trace_id, runs in sorted(wanted.of_trace.items()):
        for each in _of_trace(work, trace_id, runs, wanted.clocks[trace_id]):
            done += 1
            work.doing("measuring runs", done, wanted.count)
            yield each.document()


def _of_trace(work: Work, trace_id: int, runs: Sequence[StudyRun], server: ServerClock) -> Iterator[Measured]:
    """Measure a trace's runs in the order of time, to open each part once for all its runs."""
    found = _opened(work, trace_id)
    for run in sorted(runs, key=lambda each: each.begin_us):
        yield Measured(run, found) if isinstance(found, Refusal) else _measured(run, found, server)


def _opened(work: Work, trace_id: int) -> StoredTrace | Refusal:
    key = work.server.secrets.allocation
    with work.database.reading() as session:
        trace = session.get(Trace, trace_id)
        if trace is None:
            return Refusal(Why.NO_SAMPLES, "its trace was removed meanwhile")
        try:
            manifest = manifest_of(trace, key)
            seal = seal_of(trace, 0, key)
        except SealError as error:
            return Refusal(Why.NO_SAMPLES, f"{trace.client_id}: its manifest or key {error}")
        if manifest is None:
            return Refusal(Why.NO_SAMPLES, f"{trace.client_id}: it has no manifest")
        rows = select(TracePart.number, TracePart.sha256).where(TracePart.trace_id == trace_id)
        digests = dict(session.execute(rows).all())
        return StoredTrace(trace.header, manifest, seal, storage_of(work.server.config, work.database), digests)


def _measured(run: StudyRun, trace: StoredTrace, server: ServerClock) -> Measured:
    try:
        session = trace.session(run, server)
    except TraceError as error:
        session = Refusal(Why.NO_SAMPLES, f"{trace.id}: {error}")
    return Measured(run, session) if isinstance(session, Refusal) else measured(run, session, LIMITS)


BLINDED = "Power must wait until the study is unblinded: it reveals conditions."
MEASURED = "The server is measuring this study's power already. Wait until it is done, or cancel the job."
COMMAND_LINE = "the command line"


def begin(session: Session, study: Study, who: Caller | None) -> Job:
    """Start measuring the power of every run. Raises Problem 409 if the study is blinded, or the job exists already."""
    session.refresh(study, with_for_update=FOR_CHANGE)
    if study.state != StudyState.UNBLINDED:
        raise conflict("blinded", BLINDED)
    if jobs.open_one(session, MEASURING, study.id):
        raise conflict("measuring", MEASURED)
    job = _ask(session, study, who)
    append(session, "power.asked", who, study_id=study.id, study=study.name, job=job.id)
    return job


def begin_by_itself(session: Session, study: Study, who: Caller | None) -> None:
    """Start measuring the power of a study right after its unblinding, if it has a trace."""
    if session.scalar(select(Trace.id).where(Trace.study_id == study.id).limit(1)) is not None:
        _ask(session, study, who)


def give_up(session: Session, study: Study) -> None:
    """Cancel the study's measuring job, because an upload takes its place."""
    job = jobs.open_one(session, MEASURING, study.id, for_change=True)
    if job is not None:
        jobs.cancel(job)


def _ask(session: Session, study: Study, who: Caller | None) -> Job:
    return jobs.ask(session, MEASURING, who.name if who else COMMAND_LINE, study.id)
