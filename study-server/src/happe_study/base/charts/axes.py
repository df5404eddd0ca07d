# SPDX-License-Identifier: GPL-2.0-or-later
"""What a direction of a chart stands for: a linear scale, and ticks at round values. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROUND = (1.0, 2.0, 5.0, 10.0)
MINUTE, HOUR, DAY = 60, 3600, 86_400
ROUND_SECONDS = (10, 15, 30, 60, 120, 300, 600, 900, 1800, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY)
MOST_TICKS = 50
SECOND_US = 1_000_000


@dataclass(frozen=True)
class Tick:
    """A value with its words; a minor one is left out where there is little room."""

    at: float
    text: str
    minor: bool = False


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high`. Raises ValueError unless both are finite and low < high."""

    low: float
    high: float
    title: str = ""
    ticks: tuple[Tick, ...] = ()

    def __post_init__(self) -> None:
        """Check the ends."""
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"an axis from {self.low} to {self.high}")

    def share(self, value: float) -> float:
        """Where a value lies: 0 at `low`, 1 at `high`; what is far outside is brought near: -1 or 2."""
        return min(max((value - self.low) / (self.high - self.low), -1.0), 2.0)


def numbers(low: float, high: float, title: str = "", about: int = 4) -> Axis:
    """An axis of plain numbers with about so many ticks."""
    step = round_step((high - low) / about)
    return Axis(low, high, title, _ticks(low, high, step, lambda value: plain(value, step)))


def seconds(low: float, high: float, title: str = "", about: int = 8) -> Axis:
    """An axis of seconds: 1:30 or 1:02:30 where ticks are 10 s apart or more, else with the decimals needed."""
    step = round_step((high - low) / about)
    if step >= ROUND_SECONDS[0]:
        step = next((each for each in ROUND_SECONDS if each >= (high - low) / about), DAY)
        return Axis(low, high, title, _ticks(low, high, step, minutes))
    return Axis(low, high, title, _ticks(low, high, step, lambda value: f"{plain(value, step)} s"))


def moments(low_us: int, high_us: int, title: str = "", about: int = 6) -> Axis:
    """An axis of microseconds since 1970, UTC: days where ticks are a day apart or more, else hours and minutes."""
    wanted = (high_us - low_us) / about / SECOND_US
    step = next((each for each in ROUND_SECONDS if each >= wanted), 0) or DAY * math.ceil(wanted / DAY)
    written = "%Y-%m-%d" if step >= DAY else "%H:%M:%S" if step < MINUTE else "%H:%M"
    ticks = _ticks(
        low_us, high_us, step * SECOND_US, lambda us: f"{datetime.fromtimestamp(us / SECOND_US, UTC):{written}}"
    )
    return Axis(low_us, high_us, title, ticks)


def categories(names: Sequence[str], title: str = "") -> Axis:
    """An axis of things: number n, from 0, takes n to n + 1, and its name stands in the middle."""
    return Axis(0, max(len(names), 1), title, tuple(Tick(n + 0.5, name) for n, name in enumerate(names)))


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
    """Multiples of a step between two values. Every other one is minor, so that zero never is."""
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    chosen = range(first, min(last, first + MOST_TICKS) + 1)
    return tuple(Tick(number * step, words(number * step), minor=number % 2 == 1) for number in chosen)
