# SPDX-License-Identifier: GPL-2.0-or-later
"""Finding what to measure: complete runs by the server's time, and for each the sealed trace that covers it best."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from happe_contract.measuring.refusal import Refusal, Why
from happe_contract.measuring.runs import StudyRun
from happe_contract.server_time import ClockSetError, ServerClock, server_clock
from happe_contract.traces import ClockEstimate as Estimate
from happe_study.model.devices import ClockEstimate, Device
from happe_study.model.runs import Run, RunRecord
from happe_study.model.traces import Trace
from happe_study.study.records.stored import opened
from happe_study.study.sealing import SealError

SECOND_US = 1_000_000
ROWS_AT_ONCE = 100


class Spanned(NamedTuple):
    """A sealed trace: its begin and end by the server's time, and its meter's clock."""

    id: int
    begin_us: int
    end_us: int
    clock: ServerClock

    def shares(self, run: StudyRun) -> int:
        """How many microseconds of a run the trace covers."""
        return max(0, min(self.end_us, run.end_us) - max(self.begin_us, run.begin_us))


@dataclass
class Asked:
    """Runs to measure, by the id of their trace; and runs without a trace, with the reason."""

    of_trace: dict[int, list[StudyRun]] = field(default_factory=lambda: defaultdict(list))
    clocks: dict[int, ServerClock] = field(default_factory=dict)
    without: list[tuple[StudyRun, Refusal]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """The number of all runs."""
        return len(self.without) + sum(map(len, self.of_trace.values()))


class Clocks:
    """The clocks of a study's devices, each looked up once."""

    def __init__(self, session: Session) -> None:
        """Look up no clock yet."""
        self._session = session
        self._known: dict[tuple[int, str], ServerClock | None] = {}

    def of(self, device_id: int, name: str, title: str) -> ServerClock | None:
        """A device's clock; None if it was never compared with the server's. ClockSetError if somebody set it."""
        if (device_id, name) not in self._known:
            mine = ClockEstimate.device_id == device_id, ClockEstimate.clock == name
            rows = self._session.scalars(select(ClockEstimate).where(*mine))
            estimates = [Estimate(each.device_us, each.offset_us, each.uncertainty_us) for each in rows]
            self._known[device_id, name] = server_clock(title, estimates)
        return self._known[device_id, name]


def asked(session: Session, study_id: int, key: bytes) -> Asked:
    """Every complete run of an unblinded study. `key` opens records."""
    clocks, found = Clocks(session), Asked()
    traces, untold = _traces(session, study_id, clocks)
    query = (
        select(Run.code, Run.device_id, Run.started_us, Run.ended_us, Device.code.label("laptop"), RunRecord.document)
        .join(Device, Device.id == Run.device_id)
        .join(RunRecord, RunRecord.run_id == Run.id)
        .where(
            Run.study_id == study_id,
            Run.state == "complete",
        )
        .order_by(Run.code)
    )
    for row in session.execute(query.execution_options(yield_per=ROWS_AT_ONCE)):
        run = StudyRun(row.code, row.laptop, row.started_us, row.ended_us)
        try:
            run = _by_record(run, json.loads(opened(key, row.code, row.document)), row.device_id, clocks)
        except SealError as error:
            found.without.append((run, Refusal(Why.NO_CLOCK, f"its record {error}")))
            continue
        except ClockSetError as error:
            found.without.append((run, Refusal(Why.CLOCK_SET, f"the clock of its laptop {row.laptop}: {error}")))
            continue
        best = max(traces[row.device_id], key=lambda each: each.shares(run), default=None)
        if best is None or not best.shares(run):
            found.without.append((run, _uncovered(run, untold[row.device_id])))
        else:
            found.of_trace[best.id].append(run)
            found.clocks[best.id] = best.clock
    return found


def _by_record(run: StudyRun, record: dict[str, object], device_id: int, clocks: Clocks) -> StudyRun:
    """A run with its record's times; with the server's times if the laptop's clock is unknown."""
    name = str(record["clock"])
    clock = clocks.of(device_id, name, f"laptop {run.laptop} {name}")
    if clock is None:
        return run
    begin, end = (int(str(record[at])) for at in ("started_us", "ended_us"))
    return run._replace(
        begin_us=clock.server_us(begin),
        end_us=clock.server_us(end),
        by_record=True,
        begin_parts=clock.parts(begin),
        end_parts=clock.parts(end),
    )


def _traces(session: Session, study_id: int, clocks: Clocks) -> tuple[dict[int, list[Spanned]], dict[int, list[str]]]:
    """By laptop: its usable sealed traces, and the reasons why other traces can't be used. Reads no manifest."""
    query = select(Trace).options(defer(Trace.manifest), defer(Trace.manifest_sealed))
    found: dict[int, list[Spanned]] = defaultdict(list)
    untold: dict[int, list[str]] = defaultdict(list)
    for trace in session.scalars(query.where(Trace.study_id == study_id, Trace.laptop_id.is_not(None))):
        assert trace.laptop_id is not None  # noqa: S101 - as asked for
        try:
            clock = clocks.of(trace.device_id, trace.header["clock"], trace.header["clock"])
            why = "its meter has not sent all of it; start the uploader there" if trace.sealed_us is None else ""
            why = why or ("its meter's clock was never compared with the server's" if clock is None else "")
        except ClockSetError as error:
            clock, why = None, str(error)
        if clock is None or why:
            untold[trace.laptop_id].append(f"{trace.client_id}: {why}")
            continue
        begin_us = trace.header["started"]["monotonic_us"]
        end_us = begin_us + (trace.seconds or 0) * SECOND_US
        found[trace.laptop_id].append(Spanned(trace.id, clock.server_us(begin_us), clock.server_us(end_us), clock))
    return found, untold


def _uncovered(run: StudyRun, untold: Sequence[str]) -> Refusal:
    return Refusal(Why.NO_SAMPLES, "; ".join([f"no trace of laptop {run.laptop} was recorded meanwhile", *untold]))
