# SPDX-License-Identifier: GPL-2.0-or-later
"""The time series in a run's record, in seconds from the run's start. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from happe_study.base.charts.axes import shortest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from happe_contract.strict_json import Json

SECOND_US = 1_000_000
SERIES_US = 1_000_000  # a press sooner than this after the key's last press belongs to its series (docs/traces.md)
KHZ_A_GHZ = 1_000_000
SLACK = 1e-9  # seconds
LONGEST_PERIOD = 2  # sample periods; values between observations further apart are unknown


@dataclass(frozen=True)
class Held:
    """A value that lasted from `begin` to `end`, in seconds."""

    begin: float
    end: float
    value: float


@dataclass(frozen=True)
class Press:
    """A press of a key at a time in seconds, whether it counted, the frequency then, and its lesson in words.

    `number`: the lesson's number in the run, from 1; 0 for a press without a lesson.
    """

    at: float
    key: str
    counted: bool
    ghz: float
    lesson: str
    number: int


@dataclass(frozen=True)
class RunSeries:
    """A run of `seconds` length. Utilisation is in percent by CPU, frequency in GHz by policy."""

    seconds: float
    utilisation: dict[str, list[Held]]
    frequency: dict[str, list[Held]]
    ladder_ghz: list[float]  # of every policy, ascending
    presses: list[Press]
    interruptions: list[tuple[float, float, str]]


def run_series(record: Json) -> RunSeries:
    """The series of a checked record."""
    started = record["started_us"]
    length = (record["ended_us"] - started) / SECOND_US
    utilisation: dict[str, list[Held]] = defaultdict(list)
    frequency: dict[str, list[Held]] = defaultdict(list)
    longest = LONGEST_PERIOD * record["header"]["period_us"]
    before = started
    for line in record["observations"]:
        begin = (max(before, line["t_us"] - longest) - started) / SECOND_US
        end = (line["t_us"] - started) / SECOND_US
        for name, percent in _cpus(line):
            utilisation[name].append(Held(begin, end, percent))
        for policy in line["policies"]:
            if "cur_khz" in policy:
                frequency[f"policy {policy['id']}"].append(Held(begin, end, policy["cur_khz"] / KHZ_A_GHZ))
        before = line["t_us"]
    steps = sorted({khz / KHZ_A_GHZ for ladder in record["header"]["ladders_khz"].values() for khz in ladder})
    return RunSeries(length, dict(utilisation), dict(frequency), steps, list(_presses(record)), _stops(record))


def _cpus(line: Json) -> Iterator[tuple[str, float]]:
    """Each CPU's name and percent. The name contains the policy if there are several."""
    for policy in line["policies"]:
        for number, ppm in enumerate(policy["util_ppm"]):
            of = f" of policy {policy['id']}" if len(line["policies"]) > 1 else ""
            yield f"CPU {number}{of}", ppm / 10_000


def _presses(record: Json) -> Iterator[Press]:
    """Each press. It counted if it begins a series, and is the line's first such press of a key with a lesson."""
    taught = [each for each in record["learned"] if not each.get("probe", False)]
    lessons = {(each["t_us"], each["key"]): (number, each) for number, each in enumerate(taught, start=1)}
    last: dict[str, int] = {}
    for line in record["observations"]:
        for press in line.get("keys", ()):
            key, at = press["key"], press["t_us"]
            begins = at - last.get(key, at - SERIES_US) >= SERIES_US
            last[key] = at
            number, lesson = lessons.pop((line["t_us"], key), (0, None)) if begins else (0, None)
            ghz, seconds = _ghz(line, lesson), (at - record["started_us"]) / SECOND_US
            yield Press(seconds, key, lesson is not None, ghz, _taught(lesson), number)


def _ghz(line: Json, lesson: Json | None) -> float:
    khz = lesson["cur_khz"] if lesson else max((each.get("cur_khz", 0) for each in line["policies"]), default=0)
    return float(khz / KHZ_A_GHZ)


def _taught(lesson: Json | None) -> str:
    if lesson is None:
        return ""
    return f"level {lesson['level']}: {shortest(lesson['from_khz'] / 1e6)} to {shortest(lesson['to_khz'] / 1e6)} GHz"


def _stops(record: Json) -> list[tuple[float, float, str]]:
    """The interruptions of a run: begin and end in seconds, and the reason."""
    found = []
    for each in record.get("interruptions", ()):
        begin = (each["t_us"] - record["started_us"]) / SECOND_US
        end = (each.get("until_us", each["t_us"]) - record["started_us"]) / SECOND_US
        found.append((begin, end, each["reason"]))
    return found


def joined(held: list[Held]) -> list[tuple[float, float] | None]:
    """The points of a step line, one at each value's begin; None marks a stretch without values."""
    points: list[tuple[float, float] | None] = []
    for number, each in enumerate(held):
        points.append((each.begin, each.value))
        if number + 1 == len(held) or held[number + 1].begin > each.end + SLACK:
            points += [(each.end, each.value), None]
    return points


def seen(held: list[Held], begin: float, end: float) -> list[Held]:
    """The values that overlap `begin` to `end`. `held` must be in the order of time."""
    first = bisect_right(held, begin, key=lambda each: each.end)
    return held[first : bisect_left(held, end, key=lambda each: each.begin)]


def together(values: dict[str, list[Held]]) -> list[Held]:
    """The values of all names in one list, in the order of time."""
    return sorted((each for held in values.values() for each in held), key=lambda each: each.begin)


def mean(held: list[Held], begin: float, end: float) -> float | None:
    """The mean over the known values from `begin` to `end`, weighted by time; None if there are none."""
    known = [(min(each.end, end) - max(each.begin, begin), each.value) for each in seen(held, begin, end)]
    length = sum(share for share, _value in known)
    return sum(share * value for share, value in known) / length if length else None
