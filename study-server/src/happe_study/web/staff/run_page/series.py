# SPDX-License-Identifier: GPL-2.0-or-later
"""The time series in a run's record, in seconds from the run's start. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from happe_contract.strict_json import Json
from happe_study.base.charts import shortest

SECOND_US = 1_000_000
SERIES_US = 1_000_000  # a press sooner than this after the key's last press belongs to its series (docs/traces.md)
KHZ_A_GHZ = 1_000_000
LONGEST_PERIOD = 2  # sample periods; values between observations further apart are unknown


@dataclass(frozen=True)
class Period:
    """Values from `begin` to `end`, in seconds: utilisation in percent by CPU, frequency in GHz by policy."""

    begin: float
    end: float
    busy: dict[str, float]
    ghz: dict[str, float]


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
    """A run of `seconds` length, its periods in the order of time."""

    seconds: float
    periods: list[Period]
    ladder_ghz: list[float]  # of every policy, ascending
    presses: list[Press]
    interruptions: list[tuple[float, float]]


def run_series(record: Json) -> RunSeries:
    """The series of a checked record."""
    started = record["started_us"]
    longest = LONGEST_PERIOD * record["header"]["period_us"]
    before, periods = started, []
    for line in record["observations"]:
        begin, end = ((at - started) / SECOND_US for at in (max(before, line["t_us"] - longest), line["t_us"]))
        ghz = {f"policy {each['id']}": each["cur_khz"] / KHZ_A_GHZ for each in line["policies"] if "cur_khz" in each}
        periods.append(Period(begin, end, dict(_cpus(line)), ghz))
        before = line["t_us"]
    steps = sorted({khz / KHZ_A_GHZ for ladder in record["header"]["ladders_khz"].values() for khz in ladder})
    stops = [
        ((each["t_us"] - started) / SECOND_US, (each.get("until_us", each["t_us"]) - started) / SECOND_US)
        for each in record.get("interruptions", ())
    ]
    return RunSeries((record["ended_us"] - started) / SECOND_US, periods, steps, list(_presses(record)), stops)


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


def seen(periods: Sequence[Period], begin: float, end: float) -> Sequence[Period]:
    """The periods that overlap `begin` to `end`."""
    first = bisect_right(periods, begin, key=lambda each: each.end)
    return periods[first : bisect_left(periods, end, key=lambda each: each.begin)]
