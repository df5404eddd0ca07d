# SPDX-License-Identifier: GPL-2.0-or-later
"""The power traces that belong to one participant alone. The server erases them with the participant."""

from collections.abc import Sequence

from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from happe_study.model.devices import ClockEstimate, Sitting
from happe_study.model.traces import Trace, TracePart

SECOND_US = 1_000_000


def only_during(session: Session, participant_id: int) -> list[str]:
    """The ids of the traces during which this participant, and nobody else, sat at the measured laptop."""
    laptops = select(Sitting.device_id).where(Sitting.participant_id == participant_id)
    traces = session.scalars(select(Trace).where(Trace.laptop_id.in_(laptops)))
    return [trace.client_id for trace in traces if _sitters(session, trace) == {participant_id}]


def forget(session: Session, recordings: Sequence[str]) -> None:
    """Delete the rows of these traces and their parts."""
    traces = select(Trace.id).where(Trace.client_id.in_(recordings))
    session.execute(delete(TracePart).where(TracePart.trace_id.in_(traces)))
    session.execute(delete(Trace).where(Trace.id.in_(traces)))


def span(session: Session, trace: Trace) -> tuple[int, int]:
    """Start and end of a trace in microseconds of the server's clock, by its meter's clock estimates.

    Without estimates, by the meter's wall clock. The end of a sealed trace is known to a second from its row. An
    unsealed trace ends with its last part's arrival.
    """
    started = trace.header["started"]
    offset = _offset(session, trace, started["monotonic_us"])
    if offset is None:
        offset = started["realtime_us"] - started["monotonic_us"]
    if trace.seconds is not None:
        end = started["monotonic_us"] + (trace.seconds + 1) * SECOND_US + offset
    else:
        last = select(func.max(TracePart.received_us)).where(TracePart.trace_id == trace.id)
        end = session.scalar(last) or trace.created_us
    start = started["monotonic_us"] + offset
    return start, max(start, end)


def _offset(session: Session, trace: Trace, monotonic_us: int) -> int | None:
    """The offset from the meter's monotonic clock to the server's, from the estimate nearest in time; None if none."""
    mine = select(ClockEstimate.offset_us).where(
        ClockEstimate.device_id == trace.device_id, ClockEstimate.clock == trace.header["clock"]
    )
    return session.scalar(mine.order_by(func.abs(ClockEstimate.device_us - monotonic_us)).limit(1))


def _sitters(session: Session, trace: Trace) -> set[int]:
    """The ids of participants whose sittings at the laptop overlap a trace. Open sittings last until now."""
    start_us, end_us = span(session, trace)
    overlapping = select(Sitting.participant_id).where(
        Sitting.device_id == trace.laptop_id,
        Sitting.started_us <= end_us,
        or_(Sitting.ended_us.is_(None), Sitting.ended_us >= start_us),
    )
    return set(session.scalars(overlapping))
