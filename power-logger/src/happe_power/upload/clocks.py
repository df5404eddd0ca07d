# SPDX-License-Identifier: GPL-2.0-or-later
"""How far this host's clock is off the server's, by the arithmetic of happe_contract.clocks."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING

from happe_contract import clocks
from happe_contract.clocks import LATEST_US, MOST_ROUND_TRIP_US, Probe
from happe_contract.faults import BadDocumentError
from happe_contract.traces import ClockEstimate
from happe_power.recording.files import append_line
from happe_power.recording.header import boot_clock
from happe_power.upload.server import LaterError, judge, object_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from happe_contract.strict_json import Json
    from happe_power.upload.server import Server

NAME = "clocks.jsonl"
PROBES = 16
EVERY_US = 60_000_000


def now_us() -> int:
    """CLOCK_MONOTONIC in microseconds."""
    return time.monotonic_ns() // 1000


def probes(server: Server) -> list[Probe]:
    """Ask the server for its time 16 times. Raises NoAnswerError, LaterError, StoppedError, RefusedError."""
    found: list[Probe] = []
    for _ in range(PROBES):
        t0 = now_us()
        answer = server.get("clock")
        t3 = now_us()
        judge(answer, "the server's clock")
        t1, t2 = answer.document.get("receive_us"), answer.document.get("send_us")
        if type(t1) is not int or type(t2) is not int or not 0 <= t1 <= t2 <= LATEST_US:
            raise LaterError("the server's clock: the answer does not come from a study server")
        probe = Probe(t0, t1, t2, t3)
        if probe.round_trip_us <= MOST_ROUND_TRIP_US:
            found.append(probe)
    return found


def estimate(found: Sequence[Probe]) -> ClockEstimate:
    """Return the fastest probe's estimate. Raises LaterError without probes, or after a set clock."""
    if not found:
        raise LaterError("the server's clock: every answer took more than 10 s")
    try:
        said = clocks.estimate([(each.t0, each.t1, each.t2, each.t3) for each in found])
    except BadDocumentError:
        raise LaterError("the server's clock: it or ours was set while we compared them") from None
    return ClockEstimate(said.device_us, said.offset_us, said.uncertainty_us)


def due(clock: str, known: Sequence[ClockEstimate], ended_us: int | None, now: int, *, live: bool) -> bool:
    """Whether a trace needs a clock estimate: at its start, once a minute during the recording, and after its end.

    `clock` names the trace's clock; `ended_us` is its last time if it has ended. After a reboot it is too late.
    """
    if clock != boot_clock():
        return False
    if not known:
        return True
    latest = max(each.monotonic_us for each in known)
    return latest < ended_us if ended_us is not None else live and now - latest >= EVERY_US


def note(folder: Path, clock: str, found: Sequence[Probe], said: ClockEstimate) -> None:
    """Add an estimate to a trace's clocks.jsonl, under a new id. Raises OSError."""
    line: Json = {
        "id": str(uuid.uuid4()),
        "clock": clock,
        "probes": [[each.t0, each.t1, each.t2, each.t3] for each in found],
    }
    line |= {"monotonic_us": said.monotonic_us, "offset_us": said.offset_us, "uncertainty_us": said.uncertainty_us}
    append_line(folder / NAME, line)


def noted(folder: Path) -> list[tuple[Json, ClockEstimate]]:
    """The estimates in a trace's clocks.jsonl, each as its JSON line and as a ClockEstimate. Raises OSError."""
    names = ("monotonic_us", "offset_us", "uncertainty_us")
    found = [line for line in read_lines(folder / NAME) if all(type(line.get(name)) is int for name in names)]
    return [(line, ClockEstimate(*(line[name] for name in names))) for line in found]


def read_lines(path: Path) -> list[Json]:
    """The complete lines that are JSON objects with content; an empty list without the file. Raises OSError."""
    try:
        whole = path.read_bytes().rpartition(b"\n")[0]
    except FileNotFoundError:
        return []
    return [document for line in whole.splitlines() if (document := object_of(line))]
