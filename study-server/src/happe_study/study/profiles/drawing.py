# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles in words and as charts, and as cells of tables with the colours heat-0 to heat-10. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby

from happe_study.base.charts import Chart, Series, Table, minutes
from happe_study.study.profiles.history import Levels, Step
from happe_study.study.records.lessons import LEVELS

SECOND_US = 1_000_000
PERCENT = "\N{NARROW NO-BREAK SPACE}%"


@lru_cache(maxsize=4096)
def ghz(khz: int) -> str:
    """A frequency in GHz to the kHz, with one decimal at least: 0.8, 2.201."""
    whole, rest = divmod(khz, 1_000_000)
    decimals = f"{rest:06}".rstrip("0") or "0"
    return f"{whole}.{decimals}"


def percent_of(number: int, total: int) -> str:
    """A share in whole percent. Only none is 0 %, and only all are 100 %."""
    share = round(100 * number / total)
    if 0 < number < total:
        share = min(max(share, 1), 99)
    return f"{share}{PERCENT}"


def since(step: Step) -> str:
    """The time of a lesson since its run's start, as M:SS."""
    return minutes(step.since_us / SECOND_US)


def also(step: Step) -> list[str]:
    """A lesson's changes of other levels, in words: "raised 4\N{EN DASH}6 to 1.6 GHz"."""
    found = []
    for up, moved in groupby(step.also, key=lambda each: each[2] > each[1]):
        levels = [level for level, _old, _new in moved]
        verb = "raised" if up else "lowered"
        found.append(f"{verb} {spans(levels)} to {ghz(step.lesson.to_khz)} GHz")
    return found


def spans(numbers: Iterable[int]) -> str:
    """Ascending numbers as "1, 3\N{EN DASH}5"."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(f"{run[0]}\N{EN DASH}{run[-1]}" if len(run) > 1 else str(run[0]) for run in found)


GHZ = 1e6  # kHz
HEATS = 10
HEIGHT = 220
LOOKS = (4, 3, 2, 1)  # of the lines of a chart, the last ones if there are fewer


def heat(khz: int, ladder: Sequence[int]) -> int:
    """A frequency's position between the ladder's ends: 0 to 10."""
    return round(HEATS * (khz - ladder[0]) / (ladder[-1] - ladder[0])) if ladder[-1] > ladder[0] else 0


def steps(key: str, title: str, sides: Sequence[tuple[str, Levels]], ladder: Sequence[int]) -> Chart:
    """A chart of UAFPs, the last one on top."""
    every = sorted({*ladder, *(khz for _name, levels in sides for khz in levels)})
    series = tuple(
        Series(name, [khz / GHZ for khz in (*levels, levels[-1])], look, step=True)
        for (name, levels), look in zip(sides, LOOKS[-len(sides) :], strict=True)
    )
    rows = [[str(level), *(ghz(levels[level]) for _name, levels in sides)] for level in range(LEVELS)]
    table = Table(["level", *(f"{name}, GHz" for name, _levels in sides)], rows)
    said = "; ".join(f"{name}: {' '.join(map(ghz, levels))} GHz" for name, levels in sides)
    ticks = [khz / GHZ for khz in every]
    return Chart(
        key, title, "GHz", (0, LEVELS), [*range(LEVELS + 1)], series,
        ticks=ticks, levels=True, height=HEIGHT, about=said, table=table,
    )  # fmt: skip


def spread(profiles: Sequence[tuple[Sequence[int], int]]) -> list[tuple[str, list[tuple[str, int]]]]:
    """How many profiles ask for each frequency at each level: (GHz, [(share, heat) by level]), highest first.

    `profiles`: different levels, each with its number of profiles.
    """
    counts: list[Counter[int]] = [Counter() for _ in range(LEVELS)]
    for levels, many in profiles:
        for level, khz in enumerate(levels):
            counts[level][khz] += many
    total = max(sum(counts[0].values()), 1)
    return [
        (ghz(khz), [(percent_of(each[khz], total), round(HEATS * each[khz] / total)) for each in counts])
        for khz in sorted(set().union(*counts), reverse=True)
    ]
