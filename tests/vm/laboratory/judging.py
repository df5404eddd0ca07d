# SPDX-License-Identifier: GPL-2.0-or-later
"""Judges a study in the emulated laboratory, and prints its results."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from t61.cpufreq import LADDER_KHZ
from t61.power import watts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from laboratory.analysing import Found
    from laboratory.server import Json

TRAINING = "T-HAPPE"
KERNELS = ("ondemand", "ondemand+indicator")
LEARNED = ("O-HAPPE", "B-HAPPE")
CONDITIONS = Counter((TRAINING, *KERNELS, *LEARNED))  # the runs of each participant
LEAST_LOOKS = 3  # in a run; on a busy host only a few succeed
LEAST_CHANGES = 2  # by ondemand, between the first and the last look
NEAR_W = 1.5  # the measured power to Table A.2 for the laptop's lines; a busy host forwards a line late


def complaints(found: Found) -> Iterator[str]:
    """Return all deviations from the expected state."""
    yield from _of_the_study(found)
    for run in found.tables["runs"]:
        for complaint in _of_a_run(found, run):
            yield f"run {run['run']} ({run['condition']}): {complaint}"
    for condition, saved in savings(found).items():
        if saved <= 0:
            yield f"{condition} saves {saved:.1%} of ondemand's power"


def _of_the_study(found: Found) -> Iterator[str]:
    by_person: dict[str, list[str]] = {}
    for run in played(found):
        by_person.setdefault(run["participant"], []).append(run["condition"])
    for person, conditions in by_person.items():
        if Counter(conditions) != CONDITIONS or conditions[0] != TRAINING:
            yield f"{person} played {', '.join(conditions)}"
    if not any(event["condition"] == TRAINING for event in found.tables["learning_events"]):
        yield f"nobody taught anything under {TRAINING}"
    if found.sitting["status"]["waiting"] or found.sitting["status"]["refused"]:
        yield f"the laptop has not sent everything: {found.sitting['status']}"
    pressed, recorded = sum(found.sitting["presses"].values()), len(found.tables["keys"])
    if not 0 <= pressed - recorded <= len(found.tables["runs"]):  # a press just after a game belongs to no run
        yield f"of {pressed} presses {recorded} were recorded"
    if [bool(trace["sealed_us"]) for trace in found.tables["traces"]] != [True]:
        yield f"there is not one sealed trace: {found.tables['traces']}"


def _of_a_run(found: Found, run: Json) -> Iterator[str]:
    code, condition = run["run"], run["condition"]
    once = {table: len(found.rows(table, code)) for table in ("ratings", "records")}
    if run["state"] != "complete" or set(once.values()) != {1}:
        yield f"it is {run['state']}, with {once}"
        return
    [record], [rating] = found.rows("records", code), found.rows("ratings", code)
    if rating["rating"] is None or rating["guess"] is None:
        yield "the rating or the guess is missing"
    yield from _of_the_kernel(condition, record, looks(found, code))
    if condition not in KERNELS and len({sample["cur_khz"] for sample in found.rows("samples", code)}) == 1:
        yield "happed did not change the frequency"
    taught, pressed = (len(found.rows(name, code)) for name in ("learning_events", "keys"))
    if (condition in KERNELS and taught) or (condition == TRAINING and pressed and not taught):
        yield f"{pressed} presses taught {taught} times"
    yield from _of_the_power(found, code)


def _of_the_kernel(condition: str, record: Json, seen: Sequence[Json]) -> Iterator[str]:
    """Check which governor was in force, by the kernel and by the laptop's record."""
    governor = "ondemand" if condition in KERNELS else "userspace"
    governed = {look["governor"] for look in seen} | {record["governor"]}
    if governed != {governor} or len(seen) < LEAST_LOOKS:
        yield f"{' and '.join(sorted(governed))} governed, in {len(seen)} looks"
    if (record["driver"], record["backend"]) != ("acpi-cpufreq", "setspeed"):
        yield f"the driver was {record['driver']}, the back-end {record['backend']}"
    if {look["indicator"] for look in seen} != {condition in ("B-HAPPE", "ondemand+indicator")}:
        yield "the indicator was not as it must be"
    changes = seen[-1]["transitions"] - seen[0]["transitions"] if seen else 0
    if condition in KERNELS and changes < LEAST_CHANGES:
        yield f"ondemand changed the frequency {changes} times"


def _of_the_power(found: Found, run: str) -> Iterator[str]:
    measure = found.watts[run]
    if abs(measure["mean_w"] - expected_w(found, run)) > NEAR_W:
        yield f"{measure['mean_w']:.2f} W were measured, where Table A.2 has {expected_w(found, run):.2f} W"


def played(found: Found) -> list[Json]:
    """Return the runs in the order in which they began."""
    return sorted(found.tables["runs"], key=lambda run: run["started_us"] or 0)


def looks(found: Found, run: str) -> list[Json]:
    """Return the looks from a run's second sample to its last: happed decides first at the end of the first sample."""
    times = sorted({sample["t_us"] for sample in found.rows("samples", run)})
    begin, end = (times[1], times[-1]) if len(times) > 1 and found.rows("records", run) else (0, 0)
    return [look for look in found.sitting["looks"] if begin <= look["from_us"] and look["to_us"] <= end]


def seconds(found: Found, run: str) -> dict[int, float]:
    """Return the kernel's time in state between a run's first look and its last."""
    seen = looks(found, run)
    return {khz: seen[-1]["seconds"][str(khz)] - seen[0]["seconds"][str(khz)] for khz in LADDER_KHZ}


def expected_w(found: Found, run: str) -> float:
    """Return the watts of Table A.2 for the laptop's lines during the run. The run's record has the same clock."""
    [record] = found.rows("records", run)
    begin, end = record["started_us"], record["ended_us"]
    following = [at for at, _, _ in found.told[1:]] + [end]
    lasts = [min(until, end) - max(at, begin) for (at, _, _), until in zip(found.told, following, strict=True)]
    drawn = [(watts(khz, share), us) for (_, khz, share), us in zip(found.told, lasts, strict=True) if us > 0]
    return float(sum(one * us for one, us in drawn) / sum(us for _, us in drawn))


def savings(found: Found) -> dict[str, float]:
    """Return the saving of each HAPPE condition over ondemand, by the report's Table A.1."""
    [section] = [each for each in found.results["sections"] if each["key"] == "table-a1"]
    total = {each["condition"]: each["improvement"] for each in section["data"]["totals"]}
    return {condition: total[condition] for condition in (TRAINING, *LEARNED)}


def table(found: Found) -> Iterator[str]:
    """Yield a line for each run, in the order of play, then the savings."""
    head = "  ".join(f"{khz / 1e6:.1f}" for khz in LADDER_KHZ)
    yield f"participant  condition           % of time at {head} GHz  presses  taught  watts          Table A.2"
    for run in played(found):
        code = run["run"]
        who = f"{run['participant']:11}  {run['condition']:18}"
        if not looks(found, code) or code not in found.watts:
            yield f"{who}  {run['state']}"
            continue
        spent, measure = seconds(found, code), found.watts[code]
        shares = "  ".join(f"{100 * spent[khz] / max(sum(spent.values()), 0.01):3.0f}" for khz in LADDER_KHZ)
        counts = f"{len(found.rows('keys', code)):7}  {len(found.rows('learning_events', code)):6}"
        power = f"{measure['mean_w']:5.2f} +- {measure['expanded_uncertainty']:.2f}"
        yield f"{who}  {shares:>37}  {counts}  {power}  {expected_w(found, code):8.2f}"
    for condition, saved in savings(found).items():
        yield f"{condition} saves {saved:.1%} of ondemand's power"
