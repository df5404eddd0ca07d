# SPDX-License-Identifier: GPL-2.0-or-later
"""Charts: values that static/charts.js draws with uPlot, and a table of them for print and without JavaScript. Pure.

chart = Chart("power", "Power", "W", (0, 240), at, (Series("mean", watts),))
{% import "charts.html" as charts %} ... {{ charts.figure(chart) }}
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

Values = Sequence[float | None]

HOUR, MINUTE = 3600, 60
DIGITS = 7  # behind the point: a tenth of a microsecond


@dataclass(frozen=True)
class Table:
    """The content of a chart as a table."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Series:
    """A value for each x of its chart; None where there is none. With `high`, the area from `values` to `high`.

    `look`: the colour --look-N of static/happe.css. `step`: a value lasts until the next one.
    """

    name: str
    values: Values
    look: int = 1
    high: Values | None = None
    step: bool = False


@dataclass(frozen=True)
class Marks:
    """Points with a sign, a character."""

    name: str
    sign: str
    look: int
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Chart:
    """Series over one x axis, whose values `at` ascend. `key`: its id in the page.

    `span`: the ends of the x axis, which has seconds, or with `levels` the ten levels of a profile, each 1 wide.
    `ends`: those of the y axis, and `ticks` its ticks; without them uPlot chooses. `gaps`: grey parts of the x axis.
    """

    key: str
    title: str
    unit: str
    span: tuple[float, float]
    at: Sequence[float]
    series: tuple[Series, ...]
    marks: tuple[Marks, ...] = ()
    gaps: Sequence[tuple[float, float]] = ()
    ends: tuple[float, float] | None = None
    ticks: Sequence[float] = ()
    levels: bool = False
    height: int = 140
    about: str = ""
    table: Table | None = None

    def values(self) -> str:
        """All of it but the table, as JSON."""
        content = {name: _rounded(value) for name, value in asdict(self).items() if name != "table"}
        return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list | tuple) else value


def minutes(value: float) -> str:
    """Seconds as M:SS, or H:MM:SS from an hour on."""
    whole = round(value)
    if whole >= HOUR:
        return f"{whole // HOUR}:{whole % HOUR // MINUTE:02}:{whole % MINUTE:02}"
    return f"{whole // MINUTE}:{whole % MINUTE:02}"


def shortest(value: float) -> str:
    """A frequency in GHz as text, rounded to 1 MHz, without trailing zeros: 0.8, 2.201."""
    return f"{value:.3f}".rstrip("0").rstrip(".")
