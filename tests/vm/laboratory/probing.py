# SPDX-License-Identifier: GPL-2.0-or-later
"""The probes of L-HAPPE runs in records, on the laptop and in the report."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from t61.cpufreq import LADDER_KHZ

if TYPE_CHECKING:
    from collections.abc import Iterator

    from laboratory.analysing import Found
    from laboratory.server import Json

CONDITION = "L-HAPPE"
WINDOW_US = 60_000_000  # a press within this time counts for the probe, and a probe lasts this long
KINDS = {True: ("sham", "accepted"), False: ("real", "refused")}  # the hands press only when the game is slow


def complaints(found: Found) -> Iterator[str]:
    """Return all deviations from the expected state."""
    for run in found.tables["runs"]:
        mine = found.rows("probes", run["run"])
        if {probe["sham"] for probe in mine} != (set(KINDS) if run["condition"] == CONDITION else set()):
            yield f"run {run['run']} ({run['condition']}): it has {len(mine)} probes, not of both kinds"
        for probe in mine:
            yield from _of_a_probe(found, probe)
    yield from _of_the_report(found)


def _of_a_probe(found: Found, probe: Json) -> Iterator[str]:
    name, outcome = KINDS[probe["sham"]]
    which = f"run {probe['run']}: a {name} probe"
    if probe["outcome"] != outcome:
        yield f"{which} was {probe['outcome'] or 'cut short'}"
    if probe["served_us"] < probe["t_us"] + WINDOW_US:
        yield f"{which} began in the run's last minute"
    if pressed(found, probe) == probe["sham"]:
        yield f"{which} was {'not ' * (not probe['sham'])}followed by a press"
    steps = [LADDER_KHZ.index(khz) for khz in frequencies(found, probe)]
    lowered = [after - before for before, after in pairwise(steps)][:1]
    if lowered != ([] if probe["sham"] else [-1]):
        yield f"{which} ran at {[LADDER_KHZ[step] for step in steps]} kHz"


def _of_the_report(found: Found) -> Iterator[str]:
    told = [section["data"] for section in found.results["sections"] if section["key"] == "probes"]
    if [{name: each[name] for name in ("real", "sham")} for each in told] != [counts(found)]:
        yield f"the report says of probes {told}, the export has {counts(found)}"


def counts(found: Found) -> dict[str, Json]:
    """Count the probes of each kind, and those that a press followed, as the report does."""
    made = {}
    for sham, (name, _) in KINDS.items():
        mine = [probe for probe in found.tables["probes"] if probe["sham"] is sham]
        made[name] = {"probes": len(mine), "pressed": sum(pressed(found, probe) for probe in mine)}
    return made


def pressed(found: Found, probe: Json) -> bool:
    """Return whether somebody pressed "faster" within the probe's window."""
    begin = probe["t_us"]
    mine = (key for key in found.rows("keys", probe["run"]) if key["key"] == "performance")
    return any(begin < key["t_us"] <= begin + WINDOW_US for key in mine)


def frequencies(found: Found, probe: Json) -> list[int]:
    """Return the kHz of the sample before the probe and of its own samples, without repetitions."""
    begin, end = probe["t_us"], probe["t_us"] + WINDOW_US
    ran = sorted((sample["t_us"], sample["cur_khz"]) for sample in found.rows("samples", probe["run"]))
    khz = [khz for at, khz in ran if begin <= at <= end]
    return [*khz[:1], *(after for (at, before), (_, after) in pairwise(ran) if begin <= at < end and after != before)]


def table(found: Found) -> Iterator[str]:
    """Yield a line for each probe."""
    for probe in found.tables["probes"]:
        ran = " to ".join(f"{khz / 1e6:.1f}" for khz in frequencies(found, probe))
        press = "a press" if pressed(found, probe) else "no press"
        yield f"{probe['run']}: a {KINDS[probe['sham']][0]} probe, {probe['outcome']}, at {ran} GHz, {press}"
