# SPDX-License-Identifier: GPL-2.0-or-later
"""How far this host's clock is off the server's: docs/uploads.md, Clocks.

A probe is [t0, t1, t2, t3]: asked, received, answered, heard; t0 and t3 by CLOCK_MONOTONIC, t1 and t2 by the server's
clock, in microseconds. With both ways non-negative, t2 - t3 <= offset <= t1 - t0, so the offset lies within half the
round trip of the middle (RFC 5905, section 8, has the same middle), however unequal the two ways are.
"""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from happe_power.model import ClockEstimate
from happe_power.upload import lines
from happe_power.upload.judgement import LaterError, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from happe_contract.strict_json import Json
    from happe_power.upload.server import Server

NAME = "clocks.jsonl"
PROBES = 16
EVERY_US = 60_000_000
MOST_ROUND_TRIP_US = 10_000_000
READING_US = 1  # a reading in whole microseconds is up to this much too low
MOST_DRIFT_PPM = 500  # of two clocks against each other, both slewed or cheap
LATEST_US = 2**53 - 1
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

Probe = tuple[int, int, int, int]


def this_clock() -> str:
    """The name of this boot's monotonic clock, as headers and estimates have it."""
    return f"monotonic:{BOOT_ID.read_text(encoding='ascii').strip()}"


def now_us() -> int:
    """CLOCK_MONOTONIC in microseconds."""
    return time.monotonic_ns() // 1000


def probes(server: Server) -> list[Probe]:
    """Ask 16 times. Raises NoAnswerError, LaterError, StoppedError, RefusedError."""
    found: list[Probe] = []
    for _ in range(PROBES):
        t0 = now_us()
        answer = server.get("clock")
        t3 = now_us()
        judge(answer, "the server's clock")
        t1, t2 = answer.document.get("receive_us"), answer.document.get("send_us")
        if type(t1) is not int or type(t2) is not int or not 0 <= t1 <= t2 <= LATEST_US:
            raise LaterError("the server's clock: what answers is no study server")
        if round_trip_us((t0, t1, t2, t3)) <= MOST_ROUND_TRIP_US:
            found.append((t0, t1, t2, t3))
    return found


def round_trip_us(probe: Probe) -> int:
    """The time on the way, there and back."""
    t0, t1, t2, t3 = probe
    return (t3 - t0) - (t2 - t1)


def estimate(found: Sequence[Probe]) -> ClockEstimate:
    """What the probe of least round trip says. Raises LaterError if probes disagree: a clock was set between them."""
    if not found:
        raise LaterError("the server's clock: every answer took more than 10 s")
    best = min(found, key=round_trip_us)
    if any(_disagree(each, best) for each in found):
        raise LaterError("the server's clock: it or ours was set while we compared them")
    return ClockEstimate((best[0] + best[3]) // 2, _offset_us(best), _uncertainty_us(best))


def due(clock: str, known: Sequence[ClockEstimate], ended_us: int | None, now: int, *, live: bool) -> bool:
    """Whether a trace wants an estimate: at its start, once a minute while it is recorded, and after its end.

    `clock` is the trace's, `ended_us` its last time if it has ended. After a boot it can't be had any more.
    """
    if clock != this_clock():
        return False
    if not known:
        return True
    latest = max(each.monotonic_us for each in known)
    return latest < ended_us if ended_us is not None else live and now - latest >= EVERY_US


def note(folder: Path, clock: str, found: Sequence[Probe], said: ClockEstimate) -> None:
    """Add an estimate to a trace's clocks.jsonl, under an id of its own. Raises OSError."""
    line: Json = {"id": str(uuid.uuid4()), "clock": clock, "probes": [list(each) for each in found]}
    line |= {"monotonic_us": said.monotonic_us, "offset_us": said.offset_us, "uncertainty_us": said.uncertainty_us}
    lines.append(folder / NAME, line)


def noted(folder: Path) -> list[tuple[Json, ClockEstimate]]:
    """The estimates in a trace's clocks.jsonl, as written and as read. Raises OSError."""
    names = ("monotonic_us", "offset_us", "uncertainty_us")
    found = [line for line in lines.read(folder / NAME) if all(type(line.get(name)) is int for name in names)]
    return [(line, ClockEstimate(*(line[name] for name in names))) for line in found]


def _offset_us(probe: Probe) -> int:
    t0, t1, t2, t3 = probe
    return ((t1 - t0) + (t2 - t3)) // 2


def _uncertainty_us(probe: Probe) -> int:
    return (round_trip_us(probe) + 1) // 2 + READING_US


def _disagree(one: Probe, best: Probe) -> bool:
    drift_us = abs(one[0] - best[0]) * MOST_DRIFT_PPM // 1_000_000
    apart_us = abs(_offset_us(one) - _offset_us(best))
    return round_trip_us(one) < -READING_US or apart_us > _uncertainty_us(one) + _uncertainty_us(best) + drift_us
