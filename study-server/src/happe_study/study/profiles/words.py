# SPDX-License-Identifier: GPL-2.0-or-later
"""Frequencies, shares, times and lessons in words. Pure."""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from happe_study.base.charts import minutes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from happe_study.study.profiles.history import Step

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
