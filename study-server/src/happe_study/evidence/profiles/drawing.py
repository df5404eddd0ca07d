# SPDX-License-Identifier: GPL-2.0-or-later
"""Profiles as charts. Pure: it turns levels and histories into charts of happe_study.base.charts."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from happe_study.base.charts import (
    Axis,
    Cell,
    Cells,
    Chart,
    Mark,
    Marks,
    Step,
    Table,
    Tick,
    categories,
    seconds,
)
from happe_study.base.charts import ladder as of_ladder
from happe_study.evidence.keys import KEYS, key_name
from happe_study.evidence.profiles.words import PERCENT, ghz, percent_of, since
from happe_study.runs.records.demand import LEVELS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from happe_study.evidence.profiles import history
    from happe_study.evidence.profiles.history import Chapter, Levels

GHZ = 1e6  # kHz
SECOND_US = 1e6
MILLION = 1e6
NAMES = [str(level) for level in range(LEVELS)]
LEVEL = "level: how much of the top speed is used, in tenths"
STEP_HEIGHT, TALL_HEIGHT, STRIP_HEIGHT, TIME_HEIGHT, ROW_HEIGHT = 180, 280, 28, 150, 30
FEW_SIDES = 3  # more get a chart of TALL_HEIGHT
ASIDE = 4  # pixels between lines at the same frequency, if the steps of the ladder leave room
LOOKS = ("look-1", "look-2", "look-3", "look-4", "look-5", "look-6", "look-7", "look-8")
MOST_SIDES = len(LOOKS)


def heat(khz: int, ladder: Sequence[int]) -> float:
    """A frequency's position between the ladder's ends: 0 to 1."""
    return (khz - ladder[0]) / (ladder[-1] - ladder[0]) if ladder[-1] > ladder[0] else 0.0


def strip(levels: Sequence[int], ladder: Sequence[int], *, numbered: bool = False) -> Markup:
    """Ten cells in a row as SVG, one for each level. A higher frequency makes a hotter cell."""
    title, ends = " ".join(map(ghz, levels)), (ladder[0], ladder[-1])
    cells = "".join(_cell(level, khz, ends, numbered) for level, khz in enumerate(levels))
    box = f'<svg class="plot" role="img" aria-label="GHz by level: {title}" width="100%" height="{STRIP_HEIGHT}">'
    return Markup(f"{box}{cells}</svg>")  # noqa: S704 - of numbers and Markup


@lru_cache(maxsize=4096)
def _cell(level: int, khz: int, ends: tuple[int, int], numbered: bool) -> Markup:  # noqa: FBT001 - lru_cache's way
    """A cell of a strip. It is cached, because a list has hundreds of cells and many are equal."""
    words = ghz(khz) if numbered else ""
    cell = Cell(level, 0, heat(khz, ends), words, f"level {level}: {ghz(khz)} GHz")
    return Cells([cell]).shapes(Axis(0, LEVELS), Axis(0, 1))


def steps(key: str, title: str, sides: Sequence[tuple[str, Levels | None]], ladder: Sequence[int]) -> Chart:
    """A chart of at most MOST_SIDES UAFPs on top of each other. The last one lies on top, exactly at its frequencies.

    The others lie a little above or below their frequencies, so that all stay visible where they are equal.
    """
    looks = LOOKS[: len(sides)][::-1]
    known = [(name, levels, look) for (name, levels), look in zip(sides, looks, strict=True) if levels is not None]
    every = sorted({*ladder, *(khz for _name, levels, _look in known for khz in levels)})
    height = STEP_HEIGHT if len(known) <= FEW_SIDES else TALL_HEIGHT
    layers = tuple(
        Step(_points(levels), look, name, until=LEVELS, aside=aside)
        for (name, levels, look), aside in zip(known, _asides(len(known), height, len(every)), strict=True)
    )
    y = of_ladder([khz / GHZ for khz in every], "GHz")
    said = "; ".join(f"{name}: {' '.join(map(ghz, levels))} GHz" for name, levels, _look in known)
    rows = [[str(level), *(ghz(levels[level]) for _name, levels, _look in known)] for level in range(LEVELS)]
    table = Table(["level", *(f"{name}, GHz" for name, _levels, _look in known)], rows)
    return Chart(key, title, categories(NAMES, LEVEL), y, layers, said, height, table)


def _asides(many: int, height: int, steps: int) -> list[float]:
    """`aside` for each of `many` lines: 0 for the last line, alternately above and below it for the others."""
    apart = min(ASIDE / height, 0.6 / (steps * many))
    return [apart * ((place + 1) // 2) * (1 if place % 2 else -1) for place in reversed(range(many))]


def lessons_of(key: str, chapter: Chapter, mine: Sequence[history.Step]) -> Chart:
    """A chart with a symbol for each lesson of a run: its time, its key, and the utilisation at that time."""
    layers = tuple(
        Marks([_mark(step) for step in mine if step.lesson.key == name], look.colour, look.name, look.shape)
        for name, look in KEYS.items()
    )
    length = max((chapter.ended_us - chapter.started_us) / SECOND_US, 1.0)
    y = Axis(0, 100, "utilisation, %", tuple(Tick(at, str(at)) for at in (0, 50, 100)))
    rows = [[since(step), *_words(step)] for step in mine]
    table = Table(["time", "key", "level", "utilisation", "GHz"], rows)
    said = f"{len(mine)} lessons in {length:.0f} seconds"
    title = f"Lessons of run {chapter.run}"
    return Chart(key, title, seconds(0, length, "time of the run"), y, layers, said, TIME_HEIGHT, table)


def spread(key: str, title: str, profiles: Sequence[tuple[Sequence[int], int]]) -> Chart:
    """A heat map: the share of profiles with each frequency at each level. `profiles`: (levels, number of profiles)."""
    counts: list[Counter[int]] = [Counter() for _ in NAMES]
    for levels, count in profiles:
        for level, khz in enumerate(levels):
            counts[level][khz] += count
    ladder = sorted(set().union(*counts))
    total = max(sum(counts[0].values()), 1)
    cells = [
        Cell(level, row, counts[level][khz] / total if counts[level][khz] else None, *_share(counts[level], khz, total))
        for row, khz in enumerate(ladder)
        for level in range(LEVELS)
    ]
    rows = [[ghz(khz), *(str(counts[level][khz]) for level in range(LEVELS))] for khz in reversed(ladder)]
    table = Table(["GHz", *(f"level {name}" for name in NAMES)], rows)
    said = f"Of {total} profiles, the percentage that asks for each frequency at each level."
    y = categories([ghz(khz) for khz in ladder], "GHz")
    height = ROW_HEIGHT * max(len(ladder), 1)
    return Chart(key, title, categories(NAMES, LEVEL), y, (Cells(cells),), said, height, table, look="spread")


def _share(counts: Mapping[int, int], khz: int, total: int) -> tuple[str, str]:
    number = counts[khz]
    percent = percent_of(number, total).removesuffix(PERCENT) if number else ""
    return percent, f"{ghz(khz)} GHz: {number} of {total}"


def _points(levels: Levels) -> list[tuple[float, float]]:
    return [(level, khz / GHZ) for level, khz in enumerate(levels)]


def _mark(step: history.Step) -> Mark:
    time, key, level, busy, change = (since(step), *_words(step))
    at = step.since_us / SECOND_US
    return Mark(
        at,
        100 * step.lesson.util_ppm / MILLION,
        f"lesson {step.number}, {time}: {key}, level {level}, {busy}, {change}",
    )


def _words(step: history.Step) -> tuple[str, str, str, str]:
    lesson = step.lesson
    busy = percent_of(lesson.util_ppm, int(MILLION))
    return (
        key_name(lesson.key),
        str(lesson.level),
        busy,
        f"{ghz(lesson.from_khz)} \N{RIGHTWARDS ARROW} {ghz(lesson.to_khz)}",
    )
