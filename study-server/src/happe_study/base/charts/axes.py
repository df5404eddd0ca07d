# SPDX-License-Identifier: GPL-2.0-or-later
"""An axis of a chart: a linear or stepped scale with its ticks. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROUND = (1.0, 2.0, 5.0, 10.0)
MINUTE, HOUR, DAY = 60, 3600, 86_400
ROUND_SECONDS = (10, 15, 30, 60, 120, 300, 600, 900, 1800, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY)
MOST_TICKS = 50
MOST_STEPS = 12  # more steps do not fit beside each other; `ladder` then uses a linear scale
SECOND_US = 1_000_000


@dataclass(frozen=True)
class Tick:
    """A value on an axis and its label. Narrow pages leave minor ticks out."""

    at: float
    text: str
    minor: bool = False


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high`. Raises ValueError unless both are finite and low < high.

    `steps`: ascending values between `low` and `high`, drawn at equal distances whatever their differences.
    """

    low: float
    high: float
    title: str = ""
    ticks: tuple[Tick, ...] = ()
    kind: Literal["numbers", "seconds", "categories"] = "numbers"
    steps: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError unless `low` is less than `high` and both are finite."""
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"an axis from {self.low} to {self.high}")

    def share(self, value: float) -> float:
        """The position of a value: 0 at `low`, 1 at `high`. It limits values far outside to -1 or 2."""
        if self.steps:
            return self._share_of_step(value)
        return min(max((value - self.low) / (self.high - self.low), -1.0), 2.0)

    def _share_of_step(self, value: float) -> float:
        """Step n of N is at (n + 1/2) / N; between steps the axis is linear."""
        places = [self.low, *self.steps, self.high]
        above = min(max(bisect_right(places, value), 1), len(places) - 1)
        share = (value - places[above - 1]) / (places[above] - places[above - 1])
        at = [0.0, *(number + 0.5 for number in range(len(self.steps))), float(len(self.steps))]
        return (at[above - 1] + min(max(share, 0.0), 1.0) * (at[above] - at[above - 1])) / len(self.steps)


def ladder(steps: Sequence[float], title: str = "") -> Axis:
    """An axis with the given ascending values as ticks, at equal distances. It thins out many ticks."""
    room = max((steps[-1] - steps[0]) / len(steps), steps[-1] * 0.05)
    ends = steps[0] - room, steps[-1] + room
    if len(steps) <= MOST_STEPS:
        return Axis(*ends, title, tuple(Tick(step, shortest(step)) for step in steps), steps=tuple(steps))
    every = math.ceil(len(steps) / MOST_STEPS)
    return Axis(*ends, title, tuple(Tick(step, shortest(step)) for step in [*steps[::-every]][::-1]))


def shortest(value: float) -> str:
    """A frequency in GHz as text, rounded to 1 MHz, without trailing zeros: 0.8, 2.201."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def numbers(low: float, high: float, title: str = "", about: int = 4) -> Axis:
    """An axis of plain numbers with about `about` ticks."""
    step = round_step((high - low) / about)
    return Axis(low, high, title, _ticks(low, high, step, lambda value: plain(value, step)))


def seconds(low: float, high: float, title: str = "", about: int = 8) -> Axis:
    """An axis of seconds: 1:30 or 1:02:30 for ticks at least 10 s apart, otherwise with the decimals needed."""
    step = round_step((high - low) / about)
    if step >= ROUND_SECONDS[0]:
        step = next((each for each in ROUND_SECONDS if each >= (high - low) / about), DAY)
        return Axis(low, high, title, _ticks(low, high, step, minutes), "seconds")
    return Axis(low, high, title, _ticks(low, high, step, lambda value: f"{plain(value, step)} s"), "seconds")


def moments(low_us: int, high_us: int, title: str = "", about: int = 6) -> Axis:
    """An axis of microseconds since 1970, UTC: days for ticks at least a day apart, otherwise hours and minutes."""
    wanted = (high_us - low_us) / about / SECOND_US
    step = next((each for each in ROUND_SECONDS if each >= wanted), 0) or DAY * math.ceil(wanted / DAY)
    written = "%Y-%m-%d" if step >= DAY else "%H:%M:%S" if step < MINUTE else "%H:%M"
    ticks = _ticks(
        low_us, high_us, step * SECOND_US, lambda us: f"{datetime.fromtimestamp(us / SECOND_US, UTC):{written}}"
    )
    return Axis(low_us, high_us, title, ticks)


def categories(names: Sequence[str], title: str = "") -> Axis:
    """An axis of named categories: category n, from 0, covers n to n + 1, with its name in the middle."""
    ticks = tuple(Tick(n + 0.5, name) for n, name in enumerate(names))
    return Axis(0, max(len(names), 1), title, ticks, "categories")


def round_step(wanted: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below `wanted` (> 0)."""
    power = 10.0 ** math.floor(math.log10(wanted))
    return next((each * power for each in ROUND if each * power >= wanted * (1 - 1e-9)), 10 * power)


def plain(value: float, step: float) -> str:
    """A number with the decimals that a step needs, a minus sign, and thin spaces between thousands."""
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    text = f"{value:,.{decimals}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    return text.replace("-", "\N{MINUS SIGN}") if float(f"{value:.{decimals}f}") else text.removeprefix("-")


def minutes(value: float) -> str:
    """Seconds as M:SS, or H:MM:SS from an hour on."""
    whole = abs(round(value))
    sign = "\N{MINUS SIGN}" if round(value) < 0 else ""
    if whole >= HOUR:
        return f"{sign}{whole // HOUR}:{whole % HOUR // MINUTE:02}:{whole % MINUTE:02}"
    return f"{sign}{whole // MINUTE}:{whole % MINUTE:02}"


def _ticks(low: float, high: float, step: float, words: Callable[[float], str]) -> tuple[Tick, ...]:
    """Ticks at the multiples of `step` from `low` to `high`. Odd multiples are minor, so zero never is."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    chosen = range(first, min(last, first + MOST_TICKS) + 1)
    return tuple(Tick(number * step, words(number * step), minor=number % 2 == 1) for number in chosen)
