# SPDX-License-Identifier: GPL-2.0-or-later
"""The probes of a run record: docs/traces.md, Descent and Sham probes. Times are microseconds of the record's clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from happe_contract.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_contract.strict_json import Json

BEGUN, ACCEPTED = "begun", "accepted"
GOLDEN = 0x9E3779B97F4A7C15
MIX = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
WORD = 1 << 64


@dataclass(frozen=True)
class Probe:
    """A probe that began at `t_us`. `outcome` is accepted, refused, ended, or "" if no event says how it ended.

    From `t_us` to `served_us`, the end of a sample period, HAPPE served the participant without a break.
    """

    t_us: int
    sham: bool
    outcome: str
    served_us: int


def probes(record: Json) -> Iterator[Probe]:
    """Each probe of a record without faults, by time."""
    events = record.get("probes", ())
    for number, each in enumerate(events):
        if each["event"] == BEGUN:
            later = events[number + 1]["event"] if number + 1 < len(events) else BEGUN
            yield Probe(
                each["t_us"], each["sham"], "" if later == BEGUN else later, _served_until(record, each["t_us"])
            )


def _served_until(record: Json, t_us: int) -> int:
    last = t_us
    for line in record["observations"]:
        if line["t_us"] <= t_us:
            continue
        if line["user"] is None or line["app"] is None:
            break
        last = line["t_us"]
    return last


def probe_faults(document: Json) -> Iterator[Fault]:
    """The faults of `probes`, in a record whose header and observations have none."""
    settings = document["header"].get("settings", {})
    served = {line["t_us"] for line in document["observations"] if line["user"] is not None}
    begun, last, sham = 0, -1, False
    for number, each in enumerate(document.get("probes", ())):
        at = f"/probes/{number}"
        if not settings.get("descent", False):
            yield Fault(at, "needs the header's setting descent")
        if each["t_us"] <= last:
            yield Fault(f"{at}/t_us", "must be later than the event before")
        last = each["t_us"]
        if last not in served:
            yield Fault(f"{at}/t_us", "is not the t_us of an observation that serves somebody")
        if each["event"] == BEGUN:
            begun += 1
            sham = is_sham(settings.get("probe_seed"), begun)
        elif begun == 0 or document["probes"][number - 1]["event"] != BEGUN:
            yield Fault(f"{at}/event", "needs a probe that runs")
        if each["sham"] != sham:
            yield Fault(f"{at}/sham", "is not what probe_seed draws")
    yield from _lesson_faults(document)


def _lesson_faults(document: Json) -> Iterator[Fault]:
    """A fault unless each accepted real probe has a probe's lesson at its time, and each such lesson has a probe."""
    accepted = {each["t_us"] for each in document.get("probes", ()) if each["event"] == ACCEPTED and not each["sham"]}
    taught = {each["t_us"] for each in document["learned"] if each.get("probe", False)}
    if missing := accepted ^ taught:
        yield Fault("/learned", f"and probes disagree about the accepted probe of {min(missing)}")


def is_sham(seed: int | None, number: int) -> bool:
    """Whether a trace's probe `number`, from 1, is a sham: the highest bit of splitmix64's value `number` says so."""
    if seed is None:
        return False
    z = (seed + number * GOLDEN) % WORD
    for shift, factor in MIX:
        z = (z ^ z >> shift) * factor % WORD
    return bool((z ^ z >> 31) >> 63)
