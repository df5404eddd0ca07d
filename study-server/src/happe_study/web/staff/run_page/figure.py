# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's charts, like Figure A.3 of the paper: utilisation, frequency, key presses and power on one time axis.

Pure: it turns series and stretches into charts.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from happe_study.base.charts import Chart, Marks, Series, Table, minutes
from happe_study.study.keys import KEYS
from happe_study.study.traces.power_view import Stretch
from happe_study.study.window import Window
from happe_study.web.staff.run_page.power import Placed
from happe_study.web.staff.run_page.series import Period, Press, RunSeries, seen

Pick = Callable[[Period], dict[str, float]]
Cell = Callable[[float, float], str]

T = TypeVar("T")

MOST_LINES = 4  # more CPUs or policies are drawn as one area
ROWS = 24  # rows of the table
JUST_AFTER = 1e-6  # seconds
ROOM = 0.05  # of the ladder's width, above and below
NONE = "\N{EN DASH}"
UNITS: tuple[tuple[str, int, Pick], ...] = (
    ("%", 0, lambda period: period.busy),
    ("GHz", 2, lambda period: period.ghz),
)


def charts(of: RunSeries, window: Window) -> list[Chart]:
    """The charts of utilisation and of frequency with key presses."""
    low, high = of.ladder_ghz[0], of.ladder_ghz[-1]
    room = (high - low) * ROOM or high * ROOM
    ends, marks = (low - room, high + room), tuple(_marks(of.presses))
    return [
        _chart(of, window, UNITS[0], key="utilisation", title="Utilisation", ends=(-2, 102), ticks=(0, 50, 100)),
        _chart(of, window, UNITS[1], key="frequency", title="Frequency", ends=ends, ticks=of.ladder_ghz, marks=marks),
    ]


def _chart(of: RunSeries, window: Window, what: tuple[str, int, Pick], **more: Any) -> Chart:  # noqa: ANN401 - a chart's
    """A line for each CPU or policy; if they are many, the area from lowest to highest and the mean."""
    unit, _digits, pick = what
    rows = seen(of.periods, window.begin, window.end)
    at, values = _parted([(each.begin, each.end, pick(each)) for each in rows])
    names = list(dict.fromkeys(name for row in values if row for name in row))
    every = [value for row in values if row for value in row.values()]
    if len(names) > MOST_LINES:
        lows, highs, means = _ranges(values)
        series: tuple[Series, ...] = (
            Series(f"{len(names)} of them", lows, high=highs),
            Series("mean", means, 2, step=True),
        )
    else:
        series = tuple(
            Series(name, [row.get(name) if row else None for row in values], look, step=True)
            for look, name in enumerate(names, start=1)
        )
    about = f"{min(every):.3g} to {max(every):.3g} {unit}" if every else "no values"
    span = (window.begin, window.end)
    return Chart(unit=unit, span=span, at=at, series=series, gaps=of.interruptions, about=about, **more)


def _ranges(rows: Sequence[dict[str, float] | None]) -> tuple[list[float | None], ...]:
    """The lowest, the highest and the mean of each row."""
    known = [list(row.values()) if row else [] for row in rows]
    every = (min, max, lambda values: sum(values) / len(values))
    return tuple([of(values) if values else None for values in known] for of in every)


def _parted(rows: Sequence[tuple[float, float, T]]) -> tuple[list[float], list[T | None]]:
    """The begins and values of (begin, end, value). None follows each end after which nothing is known for a while."""
    at: list[float] = []
    values: list[T | None] = []
    for number, (begin, end, value) in enumerate(rows, start=1):
        at.append(begin)
        values.append(value)
        if number == len(rows) or rows[number][0] > end + JUST_AFTER:
            at += [end, end + JUST_AFTER / 2]
            values += [value, None]
    return at, values


def _marks(presses: Sequence[Press]) -> list[Marks]:
    """The presses of each key, those that counted and others."""
    found = []
    for key, look in KEYS.items():
        for counted in (True, False):
            mine = [(each.at, each.ghz) for each in presses if each.key == key and each.counted == counted]
            if mine:
                name = look.name if counted else f"{look.name}, not counted"
                found.append(Marks(name, look.sign if counted else look.hollow, look.colour, mine))
    return found


def power(key: str, title: str, placed: Placed, found: Stretch, window: Window) -> Chart:
    """A chart of a trace's power, with its gaps."""
    rows = found.columns.tolist()
    spans = [(placed.seconds(row[0]), placed.seconds(row[0] + found.width), row) for row in rows]
    at, values = _parted(spans)
    lows, highs, means = ([row[column] if row else None for row in values] for column in (1, 2, 3))
    series: tuple[Series, ...] = (Series("single samples" if found.single else "mean", means, step=True),)
    if not found.single:
        series = (Series("power", lows, high=highs), *series)
    about = f"{min(row[1] for row in rows):.2f} to {max(row[2] for row in rows):.2f} W" if rows else "No samples."
    gaps = [(placed.seconds(begin), placed.seconds(end)) for begin, end in found.gaps]
    return Chart(key, title, "W", (window.begin, window.end), at, series, gaps=gaps, height=200, about=about)


def table(of: RunSeries, window: Window, powers: Sequence[tuple[str, Placed, Stretch]]) -> Table:
    """The charts' content as a table: means over equal parts of the window."""
    named: list[tuple[str, Cell]] = []
    for unit, digits, pick in UNITS:
        names = list(dict.fromkeys(name for each in of.periods for name in pick(each)))
        if len(names) > MOST_LINES:
            named.append((f"mean of {len(names)}, {unit}", _mean_of(of.periods, pick, names, digits)))
        else:
            named += [(f"{name}, {unit}", _mean_of(of.periods, pick, [name], digits)) for name in names]
    named.append(("key presses", lambda begin, end: str(sum(begin <= each.at < end for each in of.presses))))
    named += [(f"{name}, W", _watts_of(placed, found)) for name, placed, found in powers]
    width = window.width / ROWS
    starts = [window.begin + number * width for number in range(ROWS)]
    rows = [
        [minutes(begin) if width >= 1 else f"{begin:.6g} s", *(cell(begin, begin + width) for _name, cell in named)]
        for begin in starts
    ]
    return Table(["from", *(name for name, _cell in named)], rows)


def _mean_of(periods: Sequence[Period], pick: Pick, names: Sequence[str], digits: int) -> Cell:
    def cell(begin: float, end: float) -> str:
        value = mean(periods, pick, names, begin, end)
        return NONE if value is None else f"{value:.{digits}f}"

    return cell


def mean(periods: Sequence[Period], pick: Pick, names: Sequence[str], begin: float, end: float) -> float | None:
    """The mean of these CPUs or policies over the known values from `begin` to `end`, weighted by time."""
    known = [
        (min(each.end, end) - max(each.begin, begin), pick(each)[name])
        for each in seen(periods, begin, end)
        for name in names
        if name in pick(each)
    ]
    length = sum(share for share, _value in known)
    return sum(share * value for share, value in known) / length if length else None


def _watts_of(placed: Placed, found: Stretch) -> Cell:
    def cell(begin: float, end: float) -> str:
        at = found.columns[:, 0] + (0 if found.single else found.width / 2)
        inside = found.columns[(at >= placed.position(begin)) & (at < placed.position(end))]
        return f"{(inside[:, 3] * inside[:, 4]).sum() / inside[:, 4].sum():.2f}" if len(inside) else NONE

    return cell
