# SPDX-License-Identifier: GPL-2.0-or-later
"""How far this host's clock is off the server's, by the arithmetic of happe_contract.clocks."""

import time
import uuid
from collections.abc import Sequence
from pathlib import Path

from happe_contract import clocks
from happe_contract.clocks import LATEST_US, MOST_ROUND_TRIP_US, Probe
from happe_contract.faults import BadDocumentError
from happe_contract.strict_json import Json
from happe_power.recording.header import boot_clock
from happe_power.upload.server import LaterError, Server, judge, object_of

NAME = "clocks.jsonl"
PROBES = 16
EVERY_US = 60_000_000
ESTIMATE = ("monotonic_us", "offset_us", "uncertainty_us")


def now_us() -> int:
    """CLOCK_MONOTONIC in microseconds."""
    return time.monotonic_ns() // 1000


def compare(server: Server, clock: str) -> Json:
    """Ask the server for its time 16 times: a line for the clocks.jsonl of a trace with this clock, under a new id.

    Raises NoAnswerError, LaterError, StoppedError, RefusedError.
    """
    probes = [each for each in (_probe(server) for _ in range(PROBES)) if each.round_trip_us <= MOST_ROUND_TRIP_US]
    if not probes:
        raise LaterError("the server's clock: every answer took more than 10 s")
    times = [[each.t0, each.t1, each.t2, each.t3] for each in probes]
    try:
        said = clocks.estimate(times)
    except BadDocumentError:
        raise LaterError("the server's clock: it or ours was set while we compared them") from None
    line: Json = {"id": str(uuid.uuid4()), "clock": clock, "probes": times}
    return line | dict(zip(ESTIMATE, (said.device_us, said.offset_us, said.uncertainty_us), strict=True))


def _probe(server: Server) -> Probe:
    t0 = now_us()
    answer = server.get("clock")
    t3 = now_us()
    judge(answer, "the server's clock")
    t1, t2 = answer.document.get("receive_us"), answer.document.get("send_us")
    if type(t1) is not int or type(t2) is not int or not 0 <= t1 <= t2 <= LATEST_US:
        raise LaterError("the server's clock: the answer does not come from a study server")
    return Probe(t0, t1, t2, t3)


def due(clock: str, known: Sequence[Json], ended_us: int | None, now: int, *, live: bool) -> bool:
    """Whether a trace needs a clock estimate: at its start, once a minute during the recording, and after its end.

    `clock` names the trace's clock; `ended_us` is its last time if it has ended. After a reboot it is too late.
    """
    if clock != boot_clock():
        return False
    if not known:
        return True
    latest = max(each["monotonic_us"] for each in known)
    return bool(latest < ended_us if ended_us is not None else live and now - latest >= EVERY_US)


def noted(folder: Path) -> list[Json]:
    """The estimates in a trace's clocks.jsonl, as its lines. Raises OSError."""
    return [line for line in read_lines(folder / NAME) if all(type(line.get(name)) is int for name in ESTIMATE)]


def read_lines(path: Path) -> list[Json]:
    """The complete lines that are JSON objects with content; an empty list without the file. Raises OSError."""
    try:
        whole = path.read_bytes().rpartition(b"\n")[0]
    except FileNotFoundError:
        return []
    return [document for line in whole.splitlines() if (document := object_of(line))]
