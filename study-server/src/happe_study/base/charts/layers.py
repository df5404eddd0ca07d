# SPDX-License-Identifier: GPL-2.0-or-later
"""The shapes on a chart's axes: lines, steps, bands, marks, cells, spans. Pure; each returns its SVG.

Paths have coordinates from 0 to `STRETCHED` in an SVG element that the browser stretches to the chart's size. Shapes
that must not be stretched have positions in percent. `look` is a class of static/charts.css: look-1 to look-6, or a
class of the page. This module escapes words itself, since a page has hundreds of shapes and Markup.format takes 6 us a
part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from happe_study.base.charts.axes import Axis

STRETCHED = 10_000
HEAT_STEPS = 10
DIGITS = 7  # behind the point: a tenth of a microsecond

Point = tuple[float, float]
T = TypeVar("T")

SHAPES = {
    "up": "M0-6L5 4H-5Z",
    "down": "M0 6L5-4H-5Z",
    "dot": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
    "cross": "M-4-4L4 4M-4 4L4-4",
    "bar": "M0-7V7",
    "point": "M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0Z",
}


@dataclass(frozen=True)
class Line:
    """Straight lines from point to point, by ascending x; None is a gap."""

    points: Sequence[Point | None]
    look: str
    name: str = ""

    def values(self) -> dict[str, Any]:
        """The values for static/charts.js."""
        return {"look": self.look, "name": self.name, "points": _rounded(self.points)}

    def paths(self, x: Axis, y: Axis) -> Markup:
        """The layer's path."""
        return _path("line", self.look, (f"M{'L'.join(_at(x, y, *p) for p in run)}" for run in _runs(self.points)))


@dataclass(frozen=True)
class Step:
    """Values that each last until the next point's x; the last value lasts until `x = until`. None is a gap.

    `aside`: the share of the height by which the line is drawn above its values, so that equal lines stay apart.
    """

    points: Sequence[Point | None]
    look: str
    name: str = ""
    until: float | None = None
    aside: float = 0.0

    def values(self) -> dict[str, Any]:
        """The values for static/charts.js. The last value ends where the line ends."""
        last = next((point for point in reversed(self.points) if point is not None), None)
        end = [(self.until, last[1])] if self.until is not None and last else []
        points = _rounded([*self.points, *end])
        return {"look": self.look, "name": self.name, "points": points, "aside": round(self.aside, DIGITS)}

    def paths(self, x: Axis, y: Axis) -> Markup:
        """The layer's path."""
        return _path("line", self.look, (self._run(run, x, y) for run in _runs(self.points)))

    def _run(self, run: list[Point], x: Axis, y: Axis) -> str:
        at, value = run[0]
        later = "".join(f"H{_across(x, at)}V{self._down(y, value)}" for at, value in run[1:])
        ends = self.until is not None and run[-1] == self.points[-1]
        end = f"H{_across(x, self.until or 0)}" if ends else ""
        return f"M{_across(x, at)} {self._down(y, value)}{later}{end}"

    def _down(self, y: Axis, value: float) -> int:
        return _down(y, value) - round(STRETCHED * self.aside)


@dataclass(frozen=True)
class Band:
    """The area between a low and a high value at each x: (x, low, high) by ascending x; None is a gap."""

    rows: Sequence[tuple[float, float, float] | None]
    look: str
    name: str = ""

    def values(self) -> dict[str, Any]:
        """The values for static/charts.js."""
        return {"look": self.look, "name": self.name, "points": _rounded(self.rows)}

    def paths(self, x: Axis, y: Axis) -> Markup:
        """The layer's path."""
        return _path("band", self.look, (self._run(run, x, y) for run in _runs(self.rows)))

    @staticmethod
    def _run(run: list[tuple[float, float, float]], x: Axis, y: Axis) -> str:
        there = [_at(x, y, at, high) for at, _low, high in run]
        back = [_at(x, y, at, low) for at, low, _high in reversed(run)]
        return f"M{'L'.join(there + back)}Z"


@dataclass(frozen=True)
class Spans:
    """Parts of the x axis over the whole height, such as gaps."""

    spans: Sequence[tuple[float, float]]
    look: str
    name: str = ""

    def values(self) -> dict[str, Any]:
        """The values for static/charts.js."""
        return {"look": self.look, "name": self.name, "spans": _rounded(self.spans)}

    def shapes(self, x: Axis, _y: Axis) -> Markup:
        """A rectangle for each visible span, at least 1/500 of the chart wide."""
        return _joined(_rect(f"span {self.look}", *_clipped(x, a, b), 0, 1) for a, b in self.spans if _seen(x, a, b))


@dataclass(frozen=True)
class Mark:
    """A symbol at a point, with words that appear when a pointer is over it."""

    x: float
    y: float
    words: str = ""


@dataclass(frozen=True)
class Marks:
    """Symbols of one shape (a key of SHAPES) at points."""

    marks: Sequence[Mark]
    look: str
    name: str = ""
    shape: str = "dot"

    def values(self) -> dict[str, Any]:
        """The values for static/charts.js."""
        marks = [[round(mark.x, DIGITS), round(mark.y, DIGITS), mark.words] for mark in self.marks]
        return {"look": self.look, "name": self.name, "path": SHAPES[self.shape], "shape": self.shape, "marks": marks}

    def shapes(self, x: Axis, y: Axis) -> Markup:
        """The symbols between the ends of the x axis."""
        return _joined(self._one(mark, x, y) for mark in self.marks if x.low <= mark.x <= x.high)

    def _one(self, mark: Mark, x: Axis, y: Axis) -> str:
        left, top = percent(x.share(mark.x)), percent(1 - y.share(mark.y))
        sign = f'{_title(mark.words)}<path d="{SHAPES[self.shape]}"/>'
        return f'<svg class="mark {self.look} {self.shape}" x="{left}" y="{top}">{sign}</svg>'


@dataclass(frozen=True)
class Cell:
    """A box from (x, y) to (x + width, y + height) in the axes' values. `share` 0 to 1 is its heat; None: no heat."""

    x: float
    y: float
    share: float | None
    text: str = ""
    words: str = ""
    width: float = 1
    height: float = 1


@dataclass(frozen=True)
class Cells:
    """Boxes, such as a heat map's. All have the class `look`; each also has the class heat-0 to heat-10, or no-heat."""

    cells: Sequence[Cell]
    look: str = "heat"
    name: str = ""

    def shapes(self, x: Axis, y: Axis) -> Markup:
        """The SVG of all boxes."""
        return _joined(self._one(cell, x, y) for cell in self.cells)

    def _one(self, cell: Cell, x: Axis, y: Axis) -> str:
        left, right = x.share(cell.x), x.share(cell.x + cell.width)
        top, bottom = 1 - y.share(cell.y + cell.height), 1 - y.share(cell.y)
        heat = "no-heat" if cell.share is None else f"heat-{round(min(max(cell.share, 0), 1) * HEAT_STEPS)}"
        box, text = _rect("", left, right - left, top, bottom - top), ""
        if cell.text:
            across, down = percent((left + right) / 2), percent((top + bottom) / 2)
            text = f'<text x="{across}" y="{down}" dy="0.35em">{escape(cell.text)}</text>'
        return f'<g class="cell {self.look} {heat}">{_title(cell.words)}{box}{text}</g>'


def _rounded(rows: Sequence[tuple[float, ...] | None]) -> list[list[float] | None]:
    return [None if row is None else [round(value, DIGITS) for value in row] for row in rows]


def percent(share: float) -> str:
    """A share (0 to 1) as a percentage for SVG, to a thousandth of a percent."""
    return f"{100 * share:.3f}".rstrip("0").rstrip(".") + "%"


def _path(kind: str, look: str, pieces: Iterable[str]) -> Markup:
    return Markup('<path class="{} {}" d="{}"/>').format(kind, look, "".join(pieces))


def _rect(kind: str, left: float, width: float, top: float, height: float) -> str:
    named = f' class="{kind}"' if kind else ""
    at, size = f'x="{percent(left)}" y="{percent(top)}"', f'width="{percent(width)}" height="{percent(height)}"'
    return f"<rect{named} {at} {size}/>"


def _title(words: str) -> str:
    """The tooltip of a shape."""
    return f"<title>{escape(words)}</title>" if words else ""


def _joined(shapes: Iterable[str]) -> Markup:
    return Markup("".join(shapes))  # noqa: S704 - the shapes' words are escaped


def _clipped(x: Axis, low: float, high: float) -> tuple[float, float]:
    """The start and width of a span as shares of the axis. The width is at least 1/500, so that a span is visible."""
    left, right = max(x.share(low), 0), min(x.share(high), 1)
    return left, max(right - left, 0.002)


def _seen(x: Axis, low: float, high: float) -> bool:
    return low < x.high and high > x.low


def _runs(points: Sequence[T | None]) -> Iterator[list[T]]:
    """The runs of points between gaps (None)."""
    run: list[T] = []
    for point in points:
        if point is not None:
            run.append(point)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _at(x: Axis, y: Axis, across: float, up: float) -> str:
    return f"{_across(x, across)} {_down(y, up)}"


def _across(x: Axis, value: float) -> int:
    return round(STRETCHED * x.share(value))


def _down(y: Axis, value: float) -> int:
    return round(STRETCHED * (1 - y.share(value)))
