# SPDX-License-Identifier: GPL-2.0-or-later
"""Power of a run: the traces recorded during it, and the positions of their samples in the run's own time.

A run's record uses the laptop's clock, a trace the meter's. Both devices compared their clocks with the server's. So
this module converts a time of the run to the server's time, then to the meter's time, then to a position among the
samples, each within a bound.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.orm import Session, defer

from happe_contract.server_time import ClockSetError, ServerClock, server_clock
from happe_contract.strict_json import Json
from happe_contract.time_base import TimeBase
from happe_contract.traces import ClockEstimate as Estimate
from happe_contract.traces import Gap, Reason
from happe_study.model.devices import ClockEstimate, Device
from happe_study.model.runs import Run
from happe_study.model.traces import Trace, TracePart
from happe_study.study.sealing import SealError
from happe_study.study.traces.manifest import gaps_of
from happe_study.study.traces.power_view import NoPowerError, Recording, Source, Stretch, meter_of
from happe_study.study.traces.sealed import TraceFiles, seal_of
from happe_study.study.traces.storage import Part

SECOND_US = 1_000_000
MOST_TRACES = 4  # traces that a run's page shows
LATE_US = 30 * 86_400 * SECOND_US  # a meter may send a recording so long afterwards


class Interval(NamedTuple):
    """A run's begin and end by its laptop's clock, in microseconds."""

    begin_us: int
    end_us: int


@dataclass(frozen=True)
class Placed:
    """A recording placed in a run's time. The run began at `begin_us` of the meter's clock."""

    recording: Recording
    base: TimeBase
    begin_us: float
    us_a_second: float  # microseconds of the meter's clock in a second of the laptop's
    offset_us: float  # the meter's clock minus the laptop's
    bound_us: float

    @property
    def samples_a_second(self) -> float:
        """The number of samples in a second of the laptop's clock."""
        return self.us_a_second * self.base.rate_hz / SECOND_US

    def position(self, seconds: float) -> float:
        """The position among the samples of a time of the run."""
        return self.base.position(self.begin_us + self.us_a_second * seconds)

    def seconds(self, position: float) -> float:
        """The time of the run at a position among the samples."""
        return (self.base.us(position) - self.begin_us) / self.us_a_second

    def stretch(self, begin: float, end: float, most_columns: int) -> Stretch:
        """Watts between two times of the run."""
        return self.recording.stretch(self.position(begin), self.position(end), most_columns)


@dataclass(frozen=True)
class Measured:
    """A trace recorded during a run. If the page can't show its power, `placed` is None and `why` says why."""

    trace: str
    meter: str
    header: Json
    sealed: bool
    placed: Placed | None
    why: str = ""


def measured(session: Session, run: Run, record: Json, files: TraceFiles) -> list[Measured]:
    """The traces of a run's laptop recorded during the run, by begin."""
    if run.device_id is None:
        return []
    query = select(Trace, Device.name).join(Device, Device.id == Trace.device_id).options(defer(Trace.manifest))
    mine = query.where(
        Trace.laptop_id == run.device_id,
        Trace.created_us <= (run.record_us or 0) + LATE_US,
        or_(Trace.sealed_us.is_(None), Trace.sealed_us >= run.started_us),  # which is after the recording
    )
    looked_at = _Looking(session, record["clock"], run.device_id, Interval(record["started_us"], record["ended_us"]))
    found = []
    for trace, meter in session.execute(mine.order_by(Trace.created_us, Trace.id)):
        try:
            placed = looked_at.placed(trace, files)
        except (NoPowerError, ClockSetError, NotPlacedError, SealError) as error:
            why = f"its key {error}" if isinstance(error, SealError) else str(error)
            found.append(Measured(trace.client_id, meter, trace.header, trace.sealed_us is not None, None, why))
        else:
            if placed is not None:
                sealed = trace.sealed_us is not None
                found.append(Measured(trace.client_id, meter, trace.header, sealed, placed))
    return found[:MOST_TRACES]


class NotPlacedError(Exception):
    """The time of a trace is unknown, or its parts can't be read; the message says why."""


@dataclass(frozen=True)
class _Looking:
    """The run: its laptop, its record's clock, its begin and end."""

    session: Session
    clock: str
    laptop_id: int
    run: Interval

    def placed(self, trace: Trace, files: TraceFiles) -> Placed | None:
        """Place a trace in the run's time; None if it was recorded at another time.

        Raises NoPowerError, ClockSetError, NotPlacedError, SealError.
        """
        at_us, bound_us = self._by_meter(trace)
        started_us = trace.header["started"]["monotonic_us"]
        if at_us[1] < started_us or (trace.seconds is not None and _ended_us(trace, started_us) < at_us[0]):
            return None
        whole = _recording(self.session, trace, files)
        recording = whole.around(*at_us)
        if recording is None and len(whole.bad) == len(whole.sources) > 0:
            raise NotPlacedError(f"the trace can't be read: {min(whole.bad.items())[1]}")
        return None if recording is None else self._laid(recording, _restarts(trace, recording), at_us, bound_us)

    def _by_meter(self, trace: Trace) -> tuple[tuple[float, float], float]:
        """The run's begin and end by the meter's clock, and their greatest error, in microseconds."""
        if trace.header["clock"] == self.clock:
            return (self.run.begin_us, self.run.end_us), 0.0
        laptop = self._known(self.laptop_id, self.clock, "laptop")
        meter = self._known(trace.device_id, trace.header["clock"], "meter")
        begin, end = (meter.monotonic_us(laptop.server_us(us)) for us in self.run)
        laptops = max(laptop.bound_us(us) for us in self.run)
        return (begin, end), laptops + max(meter.bound_us(us) for us in (begin, end))

    def _known(self, device_id: int, clock: str, of: str) -> ServerClock:
        query = select(ClockEstimate).where(ClockEstimate.device_id == device_id, ClockEstimate.clock == clock)
        estimates = (
            Estimate(each.device_us, each.offset_us, each.uncertainty_us) for each in self.session.scalars(query)
        )
        found = server_clock(clock, estimates)
        if found is None:
            raise NotPlacedError(f"the {of}'s clock was never compared with the server's")
        return found

    def _laid(self, recording: Recording, restarts: list[Gap], at_us: tuple[float, float], bound_us: float) -> Placed:
        base = recording.time_base(restarts)
        rate = (at_us[1] - at_us[0]) / (self.run.end_us - self.run.begin_us) * SECOND_US
        bound_us += max(base.half_width_us(base.position(us)) for us in at_us)
        return Placed(recording, base, at_us[0], rate, at_us[0] - self.run.begin_us, bound_us)


def _restarts(trace: Trace, recording: Recording) -> list[Gap]:
    """The gaps with their reasons from the manifest. Without a manifest, each gap counts as a restart."""
    gaps = recording.gaps
    if not gaps or trace.manifest is None:
        return [Gap(begin, end, Reason.KILLED) for begin, end in gaps]
    said = gaps_of(trace.manifest)
    return [gap for gap in said if gap.from_index < gaps[-1][1] and gap.to_index > gaps[0][0]]


def _ended_us(trace: Trace, started_us: int) -> int:
    """The end of a sealed trace by the meter's clock, in microseconds, rounded up to a second."""
    return started_us + ((trace.seconds or 0) + 1) * SECOND_US


def _recording(session: Session, trace: Trace, files: TraceFiles) -> Recording:
    """Describe a trace's stored parts as a recording. Raises NoPowerError, SealError."""
    meter = meter_of(trace.header)
    name = UUID(trace.client_id)
    query = select(TracePart.number, TracePart.sha256).where(TracePart.trace_id == trace.id).order_by(TracePart.number)
    seal = seal_of(trace, 0, files.key)
    sources = [
        Source(files.storage, Part(name, number, sha256), replace(seal, number=number))
        for number, sha256 in session.execute(query)
    ]
    started = trace.header["started"]["monotonic_us"]
    return Recording(sources, meter, started, trace.header["part_seconds"] * SECOND_US)
