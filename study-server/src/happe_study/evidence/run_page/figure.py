# SPDX-License-Identifier: GPL-2.0-or-later
"""A run's charts, like Figure A.3 of the paper: utilisation, frequency, key presses and power on one time axis.

Pure: it turns series and stretches into charts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from happe_study.base.charts import Band, Chart, Line, Mark, Marks, Spans, Step, Table, ladder, numbers, seconds
from happe_study.base.charts.axes import minutes
from happe_study.evidence.keys import KEYS
from happe_study.evidence.run_page.series import Held, joined, mean, seen, together

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from happe_study.base.charts.layers import Point
    from happe_study.evidence.run_page.power import Placed
    from happe_study.evidence.run_page.series import Press, RunSeries
    from happe_study.evidence.traces.power_view import Stretch
    from happe_study.evidence.window import Window

LOOKS = ("look-1", "look-2", "look-4", "look-5")
MOST_POINTS = 1000
ROWS = 24  # rows of the table
DOTTED = 150  # up to so many samples get dots; more dots would hide each other
X_TITLE = "time of the run"

Layers = list["Step | Line | Band"]


class Kind(NamedTuple):
    """A kind of key press, and its look."""

    key: str
    counted: bool
    look: str
    name: str
    shape: str


KINDS = tuple(
    Kind(
        key,
        counted,
        look.colour if counted else "hollow",
        f"{look.name}{'' if counted else ', not counted'}",
        look.shape,
    )
    for key, look in KEYS.items()
    for counted in (True, False)
)


def charts(of: RunSeries, window: Window, *, shows_x: bool) -> list[Chart]:
    """The charts of utilisation and of frequency with key presses. `shows_x`: no chart of power comes below them."""
    x = seconds(window.begin, window.end, X_TITLE)
    stops = Spans(
        [(begin, end) for begin, end, _why in of.interruptions], "gap", "interrupted" if of.interruptions else ""
    )
    busy = Chart(
        "utilisation",
        "Utilisation",
        x,
        numbers(0, 100, "%", 2),
        (stops, *_layers(of.utilisation, window, "look-1")),
        _ranges(of.utilisation, window, "percent"),
        130,
        shows_x=False,
    )
    marks = [_marks(of.presses, kind) for kind in KINDS]
    frequency = Chart(
        "frequency",
        "Frequency",
        x,
        ladder(of.ladder_ghz, "GHz"),
        (stops, *_layers(of.frequency, window, "look-3 whole"), *(each for each in marks if each.marks)),
        f"{_ranges(of.frequency, window, 'GHz')} {_pressed(of.presses, window)}",
        130,
        shows_x=shows_x,
    )
    return [busy, frequency]


def _marks(presses: Sequence[Press], kind: Kind) -> Marks:
    mine = [each for each in presses if each.key == kind.key and each.counted == kind.counted]
    marks = [Mark(each.at, each.ghz, _words(each, kind)) for each in mine]
    return Marks(marks, kind.look, kind.name, kind.shape)


def _words(press: Press, kind: Kind) -> str:
    return f"{minutes(press.at)} {kind.name}{': ' if press.lesson else ''}{press.lesson}"


def _layers(values: dict[str, list[Held]], window: Window, alone: str) -> Layers:
    """A line for each CPU or policy; if they are many, the span from lowest to highest."""
    shown = {name: seen(held, window.begin, window.end) for name, held in values.items()}
    if len(shown) > len(LOOKS):
        return _spread(shown, window)
    looks = LOOKS if len(shown) > 1 else (alone,)
    layers: Layers = []
    for look, (name, held) in zip(looks, shown.items(), strict=False):
        layers += _one(name if len(shown) > 1 else "", held, look, window)
    return layers


def _one(name: str, held: list[Held], look: str, window: Window) -> Layers:
    if len(held) <= MOST_POINTS:
        return [Step(joined(held), look, name)]
    bins = _binned(held, window)
    rows = [None if not inside else (at, min(inside), max(inside)) for at, inside in bins]
    means: list[Point | None] = [(at, sum(inside) / len(inside)) if inside else None for at, inside in bins]
    return [Band(rows, look), Line(means, look, name)]


def _spread(shown: dict[str, list[Held]], window: Window) -> Layers:
    """The span of all CPUs or policies from lowest to highest, and their mean."""
    every = together(shown)
    periods: dict[tuple[float, float], list[float]] = {}
    for each in every:
        periods.setdefault((each.begin, each.end), []).append(each.value)
    rows: list[tuple[float, float, float] | None] = []
    means: list[Point | None] = []
    if len(periods) <= MOST_POINTS:
        held = [Held(begin, end, sum(inside) / len(inside)) for (begin, end), inside in periods.items()]
        rows = [(at, min(inside), max(inside)) for span, inside in periods.items() for at in span]
        return [Band(rows, "look-1", f"lowest to highest of {len(shown)}"), Step(joined(held), "look-1", "mean")]
    for at, inside in _binned(every, window):
        rows.append((at, min(inside), max(inside)) if inside else None)
        means.append((at, sum(inside) / len(inside)) if inside else None)
    return [Band(rows, "look-1", f"lowest to highest of {len(shown)}"), Line(means, "look-1", "mean")]


def _binned(held: Sequence[Held], window: Window) -> list[tuple[float, list[float]]]:
    """Values in MOST_POINTS / 2 bins by their begin: each bin's middle and its values."""
    many = MOST_POINTS // 2
    found: list[list[float]] = [[] for _ in range(many)]
    for each in held:
        place = int((each.begin - window.begin) / window.width * many)
        found[min(max(place, 0), many - 1)].append(each.value)
    return [(window.begin + (number + 0.5) * window.width / many, inside) for number, inside in enumerate(found)]


def power(key: str, title: str, placed: Placed, found: Stretch, window: Window) -> Chart:
    """A chart of a trace's power, with its gaps."""
    x = seconds(window.begin, window.end, X_TITLE)
    rows = found.columns
    low, high = (float(rows[:, 1].min()), float(rows[:, 2].max())) if len(rows) else (0.0, 1.0)
    room = (high - low) * 0.06 or max(abs(high), 1.0) * 0.05
    gaps = Spans([_seconds(placed, each) for each in found.gaps], "gap", "no samples" if found.gaps else "")
    layers = _samples(placed, found) if found.single else _envelope(placed, found)
    about = f"From {low:.2f} to {high:.2f} W, mean {found.mean_w:.3f} W." if found.mean_w is not None else "No samples."
    return Chart(key, title, x, numbers(low - room, high + room, "W", 4), (gaps, *layers), about, 190, look="power")


def _envelope(placed: Placed, found: Stretch) -> tuple[Band | Line, ...]:
    """The span and the mean of each column, with a gap where columns have no samples."""
    rows: list[tuple[float, float, float] | None] = []
    means: list[Point | None] = []
    before = None
    for begin, low, high, average, _count in found.columns.tolist():
        if before is not None and begin - before > 1.5 * found.width:
            rows.append(None)
            means.append(None)
        at = placed.seconds(begin + found.width / 2)
        rows.append((at, low, high))
        means.append((at, average))
        before = begin
    return Band(rows, "look-4", "lowest to highest"), Line(means, "watts", "mean")


def _samples(placed: Placed, found: Stretch) -> tuple[Step | Marks, ...]:
    """Single samples. Each value lasts until the next sample."""
    rows = found.columns.tolist()
    held = [Held(placed.seconds(row[0]), placed.seconds(row[0] + 1), row[3]) for row in rows]
    step = Step(joined(held), "watts", "single samples")
    dots = [Mark(each.begin, each.value, f"{each.value:.3f} W") for each in held]
    return (step, Marks(dots, "look-4", "", "point")) if len(dots) <= DOTTED else (step,)


def _seconds(placed: Placed, span: tuple[float, float]) -> tuple[float, float]:
    return placed.seconds(span[0]), placed.seconds(span[1])


def table(of: RunSeries, window: Window, powers: Sequence[tuple[str, Placed, Stretch]]) -> Table:
    """The charts' content as a table: means over equal parts of the window."""
    named: list[tuple[str, Callable[[float, float], str]]] = []
    for unit, digits, values in (("%", 0, of.utilisation), ("GHz", 2, of.frequency)):
        for name, held in _few(values).items():
            named.append((f"{name}, {unit}" if len(values) > 1 else unit, _mean_of(held, digits)))
    named.append(("key presses", lambda begin, end: _pressed_between(of.presses, begin, end)))
    named += [(f"{name}, W", _watts_of(placed, found)) for name, placed, found in powers]
    width = window.width / ROWS
    starts = [window.begin + number * width for number in range(ROWS)]
    digits = max(0, min(6, 3 - len(str(int(width * 100)))))
    rows = [
        [
            f"{minutes(begin)}" if width >= 1 else f"{begin:.{digits + 3}f} s",
            *(cell(begin, begin + width) for _name, cell in named),
        ]
        for begin in starts
    ]
    return Table(["from", *(name for name, _cell in named)], rows)


def _few(values: dict[str, list[Held]]) -> dict[str, list[Held]]:
    """The values by name; if there are many names, one entry with all of them."""
    return values if len(values) <= len(LOOKS) else {f"mean of {len(values)}": together(values)}


def _mean_of(held: list[Held], digits: int) -> Callable[[float, float], str]:
    def cell(begin: float, end: float) -> str:
        value = mean(held, begin, end)
        return "\N{EN DASH}" if value is None else f"{value:.{digits}f}"

    return cell


def _watts_of(placed: Placed, found: Stretch) -> Callable[[float, float], str]:
    def cell(begin: float, end: float) -> str:
        at = found.columns[:, 0] + (0 if found.single else found.width / 2)
        inside = found.columns[(at >= placed.position(begin)) & (at < placed.position(end))]
        if not len(inside):
            return "\N{EN DASH}"
        return f"{(inside[:, 3] * inside[:, 4]).sum() / inside[:, 4].sum():.2f}"

    return cell


def _pressed_between(presses: Sequence[Press], begin: float, end: float) -> str:
    return str(sum(begin <= each.at < end for each in presses))


def _pressed(presses: Sequence[Press], window: Window) -> str:
    inside = [each for each in presses if window.begin <= each.at <= window.end]
    counted = sum(each.counted for each in inside)
    return f"{len(inside)} key presses, of which {counted} counted." if inside else "No key press."


def _ranges(values: dict[str, list[Held]], window: Window, unit: str) -> str:
    """The ranges and means in the window, in words."""
    said = []
    for name, held in _few(values).items():
        inside = [each.value for each in seen(held, window.begin, window.end)]
        if inside:
            middle = mean(held, window.begin, window.end) or 0
            said.append(f"{name}: {min(inside):.3g} to {max(inside):.3g} {unit}, mean {middle:.3g}.")
    return " ".join(said) or "There are no values."
